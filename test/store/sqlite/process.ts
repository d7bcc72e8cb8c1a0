// Runs child.ts in a process of its own, and gives what it says line by line.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'

const CHILD = new URL('./child.ts', import.meta.url).pathname

export interface Child {
  readonly process: ChildProcess
  readonly lines: string[]
  readonly stderr: () => string
  /** Resolves when it has said this many lines. */
  said(count: number): Promise<void>
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null }>
}

/** `limit` is a shell command to run before the child takes the shell's place. */
export function startChild(t: TestContext, verb: string, path: string, limit = ':'): Child {
  const script = `${limit} && exec "$0" --disable-warning=ExperimentalWarning "$@"`
  const child = spawn('/bin/sh', ['-c', script, process.execPath, CHILD, verb, path], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const lines: string[] = []
  let stderr = ''
  let heard = Promise.withResolvers<void>()
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line)
    heard.resolve()
    heard = Promise.withResolvers()
  })
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  const ended = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.on('close', (code, signal) => {
      heard.resolve()
      resolve({ code, signal })
    })
  })
  t.after(() => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    return ended
  })
  return {
    process: child,
    lines,
    stderr: () => stderr,
    ended,
    async said(count) {
      while (lines.length < count) {
        if (child.exitCode !== null || child.signalCode !== null) {
          throw new Error(`the child ended after ${lines.length} lines: ${stderr}`)
        }
        await heard.promise
      }
    },
  }
}

export function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'writ-sqlite-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
