// A real server for the time of a recording: started, waited for, and ended.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'

const READY_MS = 120_000

export interface RealProcess {
  stop(): Promise<void>
}

/** Ready as soon as `ready` says so. It is not a failure that the server cannot be asked before. */
export async function startRealProcess(
  program: string,
  args: readonly string[],
  ready: () => Promise<boolean>,
): Promise<RealProcess> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part: string) => {
      said = (said + part).slice(-4000)
    })
  let gone: string | undefined
  child.once('error', (error) => {
    gone ??= error.message
  })
  child.once('exit', (code, signal) => {
    gone ??= `it ended with ${code ?? signal}`
  })
  const stop = async () => {
    if (gone !== undefined) return
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    const forced = setTimeout(() => child.kill('SIGKILL'), 10_000)
    await ended
    clearTimeout(forced)
  }
  const until = performance.now() + READY_MS
  while (!(await ready().catch(() => false))) {
    if (gone === undefined && performance.now() < until) {
      await wait(100)
      continue
    }
    await stop()
    throw new Error(
      `${program} does not get ready: ${gone ?? `it has had ${READY_MS / 1000} s`}. Fix: see what it says:\n${said}`,
    )
  }
  return { stop }
}

/** Asks again and again until it holds: what a server does in its own time can only be looked for. */
export async function untilTrue(what: string, holds: () => Promise<boolean>): Promise<void> {
  const until = performance.now() + READY_MS
  while (!(await holds())) {
    if (performance.now() > until)
      throw new Error(`in ${READY_MS / 1000} s it did not come about that ${what}`)
    await wait(200)
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** A text in an answer, by its path. */
export function textAt(value: unknown, ...path: readonly (string | number)[]): string {
  let at = value
  for (const step of path) at = at !== null && typeof at === 'object' ? Reflect.get(at, step) : undefined
  if (typeof at !== 'string') throw new Error(`no text at ${path.join('.')} of ${JSON.stringify(value)}`)
  return at
}
