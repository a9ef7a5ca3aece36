// Package dashboard runs the alerts of deploy/prometheus and the queries of
// deploy/grafana in the real engine of Prometheus, at the version that
// docker-compose.yml runs, on series that real workers exported.
//
// No Grafana runs here. The picture in docs is a rendering of the dashboard's
// queries: their answers, drawn in the dashboard's layout.
package dashboard
