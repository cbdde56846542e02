data {
  int<lower=0> J;
  vector[J] y;
  vector<lower=0>[J] sigma;
  int<lower=0, upper=1> centred;   // whether z is theta itself
  int<lower=0, upper=1> cauchy;    // whether tau has the right prior
}
parameters {
  real mu;
  real<lower=0> tau;
  vector[J] z;
}
transformed parameters {
  vector[J] theta = centred ? z : mu + tau * z;
}
model {
  mu ~ normal(0, 5);
  if (cauchy) tau ~ cauchy(0, 5);
  else tau ~ normal(0, 1);
  z ~ normal(centred ? mu : 0, centred ? tau : 1);
  y ~ normal(theta, sigma);
}
