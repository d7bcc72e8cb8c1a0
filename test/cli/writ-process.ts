// bin/writ as real processes, and a tool for them to call.
import { type ChildProcess, spawn } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'

export const BIN = fileURLToPath(new URL('../../bin/writ', import.meta.url))

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly out: string
  readonly err: string
}

export interface RunOptions {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
  /** Run through this shell line, with the command as "$@". */
  readonly shell?: string
}

export interface WritProcess {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  /** Everything written so far. */
  readonly written: { out: string; err: string }
  /** Resolves once stdout or stderr matches; rejects when the process ends first. */
  until(pattern: RegExp): Promise<RegExpExecArray>
}

/** Only what a command needs: settings of the machine must not leak into a test. */
const INHERITED = Object.fromEntries(
  Object.entries(process.env).filter(([name]) =>
    ['PATH', 'HOME', 'TMPDIR', 'LANG', 'NODE_COMPILE_CACHE'].includes(name),
  ),
)

export function spawnWrit(args: readonly string[], { cwd, env = {}, input, shell }: RunOptions): WritProcess {
  const [file, words] =
    shell === undefined ? [BIN, args] : ['/bin/sh', ['-c', `${shell}\nexec "$@"`, 'sh', BIN, ...args]]
  const child = spawn(file, words, { cwd, env: { ...INHERITED, ...env }, stdio: 'pipe' })
  const written = { out: '', err: '' }
  const looks = new Set<() => void>()
  for (const [stream, name] of [
    [child.stdout, 'out'],
    [child.stderr, 'err'],
  ] as const) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      written[name] += text
      for (const look of looks) look()
    })
  }
  // A command that does not read its input may be gone before it is written.
  child.stdin.on('error', () => {})
  child.stdin.end(input ?? '')
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code, signal) => {
      resolve({ code, signal, ...written })
      for (const look of looks) look()
    })
  })
  return {
    child,
    ended,
    written,
    until: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = pattern.exec(`${written.out}\n${written.err}`)
          if (found === null && child.exitCode === null && child.signalCode === null) return
          looks.delete(look)
          if (found !== null) resolve(found)
          else reject(new Error(`ended without ${pattern}: ${written.out}${written.err}`))
        }
        looks.add(look)
        look()
      }),
  }
}

export function runWrit(args: readonly string[], options: RunOptions): Promise<Ended> {
  return spawnWrit(args, options).ended
}

export interface UpServer extends WritProcess {
  readonly url: string
  stop(signal?: NodeJS.Signals): Promise<Ended>
}

/** `writ up` on a free port, ready. */
export async function startUp(
  options: RunOptions & { readonly args?: readonly string[] },
): Promise<UpServer> {
  const started = spawnWrit(['up', '--port', '0', ...(options.args ?? [])], options)
  const [, url = ''] = await started.until(/^Address: +(\S+)$/m)
  return {
    ...started,
    url,
    stop(signal = 'SIGTERM') {
      started.child.kill(signal)
      return started.ended
    },
  }
}

export interface ToolPeer {
  readonly url: string
  readonly seen: string[]
  close(): Promise<void>
}

/** Answers what it was sent, after `?ms=` milliseconds. */
export async function startToolPeer(): Promise<ToolPeer> {
  const seen: string[] = []
  const timers = new Set<NodeJS.Timeout>()
  const server: Server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text
    })
    request.on('end', () => {
      seen.push(body)
      const ms = Number(new URL(request.url ?? '/', 'http://x').searchParams.get('ms') ?? 0)
      const timer = setTimeout(() => {
        timers.delete(timer)
        response
          .setHeader('content-type', 'application/json')
          .end(JSON.stringify({ got: JSON.parse(body || 'null') }))
      }, ms)
      timers.add(timer)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    async close() {
      for (const timer of timers) clearTimeout(timer)
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
