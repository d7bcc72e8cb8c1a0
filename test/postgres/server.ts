// A real PostgreSQL for tests: one server on a free port and in a temporary folder, with a fresh database for each test.
//
// PostgreSQL refuses to run as root; there it runs as `nobody`. It goes with `stop()`, and when this process ends without
// having called that, in whatever way.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'
import { type Cluster, makeCluster, PASSWORD, plainUser } from './cluster.ts'

export interface PostgresServer {
  readonly port: number
  /** Process of the postmaster; undefined while it is down. */
  readonly pid: number | undefined
  /** Where a database of this server is reached; the one that every server has by default. */
  url(database?: string, over?: { readonly port?: number; readonly password?: string }): string
  /** Makes an empty database and gives its url. */
  createDatabase(): Promise<string>
  /** Runs one statement as the superuser and gives its rows. */
  query(text: string, values?: readonly unknown[], database?: string): Promise<Record<string, unknown>[]>
  /** Ends every process of the server at once, as a power cut would, and leaves its data as they are. */
  kill(): Promise<void>
  /** Starts it again on the same data and port. */
  start(): Promise<void>
  /** Every process of it stands still, and its connections stay open. */
  freeze(): void
  thaw(): void
  /** Stops it and removes everything. */
  stop(): Promise<void>
}

export interface PostgresServerOptions {
  /** More settings, as in postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>
}

export async function startPostgres(options: PostgresServerOptions = {}): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'writ-postgres-'))
  const user = plainUser()
  let cluster: Cluster
  const port = await freePort()
  let server: ChildProcess | undefined
  let guard: ChildProcess | undefined
  let databases = 0

  const removeAll = () => {
    guard?.kill('SIGKILL')
    signalAll(server, 'SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }

  try {
    cluster = makeCluster(folder, user)
    await start()
  } catch (error) {
    removeAll()
    throw error
  }

  async function start(): Promise<void> {
    const settings = {
      port: String(port),
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      max_connections: '200',
      shared_buffers: '32MB',
      ...options.settings,
    }
    server = spawn(
      join(cluster.bin, 'postgres'),
      [
        '-D',
        cluster.data,
        ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ],
      {
        ...user,
        cwd: folder,
        stdio: ['ignore', 'ignore', 'pipe'],
        // Ctrl-C is for the tests, which then stop it.
        detached: true,
        env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' },
      },
    )
    guard?.kill('SIGKILL')
    guard = startGuard(server.pid as number, folder)
    await ready(server)
  }

  async function down(): Promise<void> {
    const running = server
    server = undefined
    if (running === undefined || running.exitCode !== null || running.signalCode !== null) return
    const ended = new Promise((resolve) => running.once('exit', resolve))
    const backends = childrenOf(running.pid as number)
    signalAll(running, 'SIGKILL')
    await ended
    // Backends end a moment after their postmaster; the next one needs what they hold.
    while (anyRuns(backends)) await new Promise((resolve) => setTimeout(resolve, 5))
  }

  function url(database = 'postgres', over: { port?: number; password?: string } = {}): string {
    return `postgres://writ:${over.password ?? PASSWORD}@127.0.0.1:${over.port ?? port}/${database}`
  }

  async function query(text: string, values: readonly unknown[] = [], database = 'postgres') {
    const client = new pg.Client({ connectionString: url(database) })
    // A server that is killed meanwhile rejects the query, too.
    client.on('error', () => undefined)
    await client.connect()
    try {
      return (await client.query(text, [...values])).rows as Record<string, unknown>[]
    } finally {
      await client.end()
    }
  }

  return {
    port,
    get pid() {
      return server?.pid
    },
    url,
    async createDatabase() {
      databases += 1
      await query(`create database test_${databases}`)
      return url(`test_${databases}`)
    },
    query,
    kill: down,
    start,
    freeze: () => signalAll(server, 'SIGSTOP'),
    thaw: () => signalAll(server, 'SIGCONT'),
    async stop() {
      await down()
      removeAll()
    },
  }
}

/** Resolves when it takes connections. */
function ready(server: ChildProcess): Promise<void> {
  const said: string[] = []
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.once('exit', () => reject(new Error(`PostgreSQL did not start:\n${said.join('\n')}`)))
    createInterface({ input: server.stderr as NodeJS.ReadableStream }).on('line', (line) => {
      if (said.length < 50) said.push(line)
      if (line.includes('ready to accept connections')) resolve()
    })
  })
}

/**
 * Ends the server and removes its folder once this process is gone, also by SIGKILL: then the pipe between them closes.
 * Backends end by themselves when their postmaster does.
 */
function startGuard(pid: number, folder: string): ChildProcess {
  const script = 'read -r _; kill -9 "$1"; sleep 1; rm -rf "$2"'
  const guard = spawn('sh', ['-c', script, 'guard', String(pid), folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  guard.unref()
  ;(guard.stdin as Socket).unref()
  return guard
}

/** The postmaster and its backends, each of which is in a group of its own. */
function signalAll(server: ChildProcess | undefined, signal: NodeJS.Signals): void {
  if (server?.pid === undefined || server.exitCode !== null || server.signalCode !== null) return
  const backends = childrenOf(server.pid)
  for (const pid of [server.pid, ...backends]) {
    try {
      process.kill(pid, signal)
    } catch (error) {
      // It ended by itself meanwhile.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}

function anyRuns(pids: readonly number[]): boolean {
  return processes().some(({ pid, state }) => pids.includes(pid) && !state.startsWith('Z'))
}

function childrenOf(pid: number): number[] {
  return processes()
    .filter(({ parent }) => parent === pid)
    .map((one) => one.pid)
}

function processes(): { pid: number; parent: number; state: string }[] {
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid=,stat='], { encoding: 'utf8' })
  return stdout.split('\n').flatMap((line) => {
    const [pid, parent, state] = line.trim().split(/\s+/)
    return state === undefined ? [] : [{ pid: Number(pid), parent: Number(parent), state }]
  })
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number }
      probe.close(() => resolve(port))
    })
  })
}
