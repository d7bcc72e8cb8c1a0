// The entry point of bin/writ: makes the terminal from this process and runs one command line.
import { randomUUID } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import { codeOf } from '../util/error-code.ts'
import { CliError, EXIT } from './cli-error.ts'
import { dispatch, reportBug } from './dispatch.ts'
import type { Terminal } from './terminal.ts'

function createProcessTerminal(): Terminal {
  const { stdin, stdout, stderr } = process
  // A reader that has gone away, such as `| head`, ends the output and is no fault.
  for (const stream of [stdout, stderr]) {
    stream.on('error', (error) => {
      if (codeOf(error) !== 'EPIPE') throw error
    })
  }
  return {
    env: process.env,
    cwd: process.cwd(),
    clock: { now: () => Date.now(), monotonic: () => performance.now() },
    id: () => randomUUID(),
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    outIsTty: stdout.isTTY === true,
    errIsTty: stderr.isTTY === true,
    columns: stderr.columns,
    pid: process.pid,
    async readIn(limit) {
      const parts: Uint8Array[] = []
      let size = 0
      for await (const part of stdin as AsyncIterable<Uint8Array>) {
        size += part.length
        if (size > limit) {
          throw new CliError(`standard input is larger than ${limit} bytes`, {
            exit: EXIT.invalid,
            fix: 'send less',
          })
        }
        parts.push(part)
      }
      return Buffer.concat(parts)
    },
    onStop(listener) {
      const stops = (['SIGTERM', 'SIGINT'] as const).map((signal) => {
        const on = () => listener(signal)
        process.on(signal, on)
        return () => process.off(signal, on)
      })
      return () => {
        for (const stop of stops) stop()
      }
    },
    exit: (code) => process.exit(code),
  }
}

const terminal = createProcessTerminal()

process.on('uncaughtException', (error) => {
  reportBug(terminal, error)
  process.exit(EXIT.bug)
})

// Set, not exit(): what was written to a pipe must leave first.
process.exitCode = await dispatch(process.argv.slice(2), terminal)
