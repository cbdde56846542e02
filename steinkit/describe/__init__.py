"""Results in words: the JSON documents of results become statements, which text, pages and titles render.

Nothing here knows a result's class, so that every result may say what it means by what stands here.
"""
