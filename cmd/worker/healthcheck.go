package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func healthcheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "healthcheck [URL]",
		Short: "Check whether a worker is healthy, for images that have no shell",
		Long: `healthcheck requests URL (http://127.0.0.1:8081/readyz). It exits with 0 if the
answer is 200, else with 1 and the answer on the standard error.`,
		Example: `  worker healthcheck
  worker healthcheck http://127.0.0.1:8081/healthz`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			url := "http://127.0.0.1:8081/readyz"
			if len(args) > 0 {
				url = args[0]
			}
			return healthcheck(c.Context(), url)
		},
	}
}

func healthcheck(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("check health: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("check health: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		return nil
	}
	said, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
	return fmt.Errorf("ask %s: %s: %s", url, response.Status, strings.TrimSpace(string(said)))
}
