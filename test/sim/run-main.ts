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
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN, ...args], {
    env: {
      ...process.env,
      // Coverage of a child belongs to nobody, and costs a third of its time. Left out, Node would hand it on all the same.
      NODE_V8_COVERAGE: '',
      ...(options.cache === undefined ? {} : { NODE_COMPILE_CACHE: options.cache }),
    },
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
