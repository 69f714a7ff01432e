package main

import "sync"

// cache keeps what was made of a script.
type cache[V any] struct {
	mu  sync.Mutex
	all map[string]V
}

func (c *cache[V]) get(script string, build func() (V, error)) (V, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v, ok := c.all[script]; ok {
		return v, nil
	}
	v, err := build()
	if err != nil {
		return v, err
	}
	if c.all == nil {
		c.all = map[string]V{}
	}
	c.all[script] = v
	return v, nil
}
