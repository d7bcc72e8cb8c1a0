// gRPC peers in other languages, built and started by the tests that need them.
import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'

const fixture = (name: string) => join(import.meta.dirname, '..', 'fixtures', name)
const GRPCIO = '1.85.1'

/** The Go program, or why there is none. */
export function buildGo(t: {
  after(run: () => void): void
}): { readonly program: string } | { readonly skip: string } {
  const folder = mkdtempSync(join(tmpdir(), 'writ-grpc-go-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const program = join(folder, 'grpc-go')
  try {
    const env = { ...process.env, GOTOOLCHAIN: 'local', GOFLAGS: '-mod=readonly' }
    execFileSync('go', ['build', '-o', program, '.'], { cwd: fixture('grpc-go'), env, stdio: 'pipe' })
  } catch (error) {
    const why = error instanceof Error ? error.message.split('\n')[1] || error.message : String(error)
    return {
      skip: `the Go peer cannot be built (${why}). Fix: install Go 1.26 or newer, with a way to its modules`,
    }
  }
  return { program }
}

export interface GoEnded {
  /** Of gRPC. */
  readonly code: number
  readonly message: string
  // biome-ignore lint/suspicious/noExplicitAny: what a reply holds is the question of each test
  readonly reply: any
  readonly call_id: string
  readonly accept_encoding: string
}

/** One call by the Go program. */
export async function callGo(
  program: string,
  address: string,
  token: string,
  envelope: object,
  env: Readonly<Record<string, string>> = {},
): Promise<GoEnded> {
  const args = ['call', address, token, JSON.stringify(envelope)]
  const { stdout } = await promisify(execFile)(program, args, { env: { ...process.env, ...env } })
  return JSON.parse(stdout)
}

/** Where grpcio is, kept for the next run; or why it cannot be had. */
export function installGrpcio(): { readonly path: string } | { readonly skip: string } {
  const path = join(tmpdir(), `writ-test-grpcio-${GRPCIO}`)
  if (existsSync(path)) return { path }
  const fresh = mkdtempSync(join(tmpdir(), 'writ-grpcio-'))
  try {
    const pip = ['-m', 'pip', 'install', '--quiet', '--target', fresh, `grpcio==${GRPCIO}`]
    execFileSync('python3', pip, { stdio: 'pipe' })
    renameSync(fresh, path)
    return { path }
  } catch {
    rmSync(fresh, { recursive: true, force: true })
    if (existsSync(path)) return { path }
    return { skip: `grpcio ${GRPCIO} cannot be installed. Fix: install Python 3.9 or newer with pip` }
  }
}

/** Started, with the address that it says it listens on. */
export async function startPeer(
  t: TestContext,
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<{ readonly address: string }> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'], env })
  const ended = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const [line] = (await Promise.race([
    once(createInterface(child.stdout), 'line'),
    ended.then(() => Promise.reject(new Error('the peer ended before it listened'))),
  ])) as [string]
  return { address: line.replace('listening on ', '') }
}

export function startPython(t: TestContext, path: string) {
  const env = { ...process.env, PYTHONPATH: path }
  return startPeer(t, 'python3', [join(fixture('grpc-python'), 'service.py')], env)
}
