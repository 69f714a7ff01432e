package main

import "io"

func growth(folder string, log io.Writer) error { return nil }
