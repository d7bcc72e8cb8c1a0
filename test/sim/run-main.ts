// Runs the simulator in a process of its own, as `npm run sim` does.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url))

export interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunMainOptions {
  readonly timeoutMs?: number
  /** A folder where V8 keeps what it made of the sources: processes that share it start faster. */
  readonly cache?: string
}

export function runMain(args: readonly string[], options: RunMainOptions = {}): Promise<Ran> {
  // Coverage of a child belongs to nobody; with it every seed takes twice as long.
  const { NODE_V8_COVERAGE: _, ...env } = process.env
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN, ...args], {
    env: { ...env, ...(options.cache === undefined ? {} : { NODE_COMPILE_CACHE: options.cache }) },
    ...(options.timeoutMs === undefined ? {} : { timeout: options.timeoutMs }),
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (part: Buffer) => {
    stdout += part
  })
  child.stderr.on('data', (part: Buffer) => {
    stderr += part
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })
}
