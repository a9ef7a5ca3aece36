// Package containers runs the product's containers for real: it starts a container
// engine in a network of its own, builds the product's image, starts the compose
// file's demo, and makes its fleet larger.
//
// No registry is needed. The base images are stand-ins of Debian's packages (see
// standins), which the engine has under the names and digests that Dockerfile and
// docker-compose.yml pin. So the official images' own scripts are not tested, and
// nothing of Grafana is.
//
// Run it with make containers.
package containers
