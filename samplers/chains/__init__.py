"""What Metropolis-Hastings chains are made of: data order, minibatches, proposals, random streams, records."""
