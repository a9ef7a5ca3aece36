package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync/atomic"
)

// parsing is a connector of SQLite whose connections keep the statements that they have parsed, as
// PostgreSQL's driver does. For a row, parsing a statement often takes longer than running it.
type parsing struct {
	driver.Connector
	count *statementCount
}

// statementCount counts the statements of SQLite's connections.
type statementCount struct{ parsed, run atomic.Int64 }

// Connect implements driver.Connector.
func (p parsing) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := p.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &parsedConn{conn.(fullConn), p.count, make(map[string]*parsedStmt)}, nil
}

// maxStatements limits the statements that a connection keeps, because a person combines the
// conditions of a search.
const maxStatements = 500

// parsedConn is a connection of SQLite with its parsed statements. Only one goroutine uses it at a
// time.
type parsedConn struct {
	fullConn
	count *statementCount
	// statements are the statements by their texts.
	statements map[string]*parsedStmt
}

type parsedStmt struct {
	driver.Stmt
	// reading reports whether its result is being read, so that it cannot run again yet.
	reading bool
}

// ExecContext implements driver.ExecerContext.
func (c *parsedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	s, err := c.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return c.fullConn.ExecContext(ctx, query, args)
	}
	return s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
}

// QueryContext implements driver.QueryerContext.
func (c *parsedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s, err := c.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return c.fullConn.QueryContext(ctx, query, args)
	}
	rows, err := s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
	if err != nil {
		return nil, err
	}
	s.reading = true
	return &parsedRows{rows, s}, nil
}

// statement returns the parsed statement of a text. It returns nil if its earlier result is still
// being read.
func (c *parsedConn) statement(ctx context.Context, query string) (*parsedStmt, error) {
	c.count.run.Add(1)
	if s, ok := c.statements[query]; ok {
		if s.reading {
			return nil, nil
		}
		return s, nil
	}
	if len(c.statements) >= maxStatements {
		c.forget()
	}
	stmt, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	c.count.parsed.Add(1)
	s := &parsedStmt{Stmt: stmt}
	c.statements[query] = s
	return s, nil
}

// forget closes the statements whose results are not being read.
func (c *parsedConn) forget() (err error) {
	for query, s := range c.statements {
		if !s.reading {
			err = errors.Join(err, s.Close())
			delete(c.statements, query)
		}
	}
	return err
}

// Close implements driver.Conn.
func (c *parsedConn) Close() error { return errors.Join(c.forget(), c.fullConn.Close()) }

// IsValid implements driver.Validator.
func (c *parsedConn) IsValid() bool {
	v, ok := c.fullConn.(driver.Validator)
	return !ok || v.IsValid()
}

// parsedRows is the result of a parsed statement.
type parsedRows struct {
	driver.Rows
	statement *parsedStmt
}

// Close implements driver.Rows.
func (r *parsedRows) Close() error {
	r.statement.reading = false
	return r.Rows.Close()
}
