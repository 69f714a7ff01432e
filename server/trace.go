package server

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"go.opentelemetry.io/otel/attribute"
)

// NewTracer makes a tracer that sends spans to a collector by OTLP over HTTP; url is that of its traces, such as
// http://127.0.0.1:4318/v1/traces. Spans that cannot be sent are dropped. Call close, which sends what is left.
func NewTracer(ctx context.Context, url string) (t trace.Tracer, close func(context.Context) error, err error) {
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(url))
	if err != nil {
		return nil, nil, fmt.Errorf("start tracing: %w", err)
	}
	provider := sdk.NewTracerProvider(
		sdk.WithBatcher(exporter),
		sdk.WithSampler(sdk.ParentBased(sdk.AlwaysSample())),
		sdk.WithResource(resource.NewSchemaless(attribute.String("service.name", "cardrun"))),
	)
	return provider.Tracer("example.com/cardrun/server"), provider.Shutdown, nil
}
