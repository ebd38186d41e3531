// Command echodecode serves POST /v1/validate by decoding the launch and answering the same text every time: what a
// service costs that does everything but decide. The load measurement holds Tiergate against it.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"os"
	"sync"

	"github.com/labstack/echo/v4"

	"github.com/tiergate/tiergate/topology/document"
)

var (
	answer  = []byte(`{"outcome":"allow"}`)
	buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8643", "where to listen")
	flag.Parse()
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.POST("/v1/validate", validate)
	e.GET("/health", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	if err := e.Start(*addr); err != nil {
		fmt.Fprintln(os.Stderr, "echodecode:", err)
		os.Exit(1)
	}
}

func validate(c echo.Context) error {
	body := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(body)
	body.Reset()
	if _, err := body.ReadFrom(c.Request().Body); err != nil {
		return err
	}
	if _, err := document.Launch(body.Bytes(), "application/json"); err != nil {
		return echo.NewHTTPError(http.StatusBadRequest, err.Error())
	}
	return c.JSONBlob(http.StatusOK, answer)
}
