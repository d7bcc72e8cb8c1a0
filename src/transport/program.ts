// One run of a program: no shell, a process group of its own that ends with it, and no more of its output than is wanted.
import { type ChildProcess, spawn } from 'node:child_process'
import type { Timer, World } from '../util/world.ts'
import { Growing } from './response-body.ts'

export interface ProgramStart {
  /** Whole, so that nothing is looked up. */
  readonly path: string
  readonly args: readonly string[]
  /** All that it gets. */
  readonly env: Readonly<Record<string, string>>
  readonly folder: string
  /** Undefined: its input is empty. */
  readonly input: string | undefined
  /** What is not kept goes nowhere. */
  readonly keep: readonly ('stdout' | 'stderr')[]
  /** Of all that is kept together. */
  readonly maxBytes: number
}

export type ProgramEnd =
  /** It never ran. */
  | { readonly kind: 'not-started'; readonly code: string }
  | { readonly kind: 'too-large' }
  | { readonly kind: 'signal'; readonly signal: string; readonly stderr: Uint8Array }
  | {
      readonly kind: 'exit'
      readonly code: number
      readonly stdout: Uint8Array
      readonly stderr: Uint8Array
    }

export interface Program {
  readonly end: Promise<ProgramEnd>
  /** The process is no more. */
  readonly gone: Promise<void>
  /** TERM for the whole group, and KILL after the grace, or at once. */
  stop(graceMs: number): void
}

/** Somebody who left the group may hold the output open after the end of the program. */
const DRAIN_MS = 125

export function startProgram(world: Pick<World, 'after'>, start: ProgramStart): Program {
  let child: ChildProcess
  const want = (name: 'stdout' | 'stderr') => (start.keep.includes(name) ? 'pipe' : 'ignore')
  try {
    child = spawn(start.path, start.args, {
      cwd: start.folder,
      env: start.env,
      stdio: [start.input === undefined ? 'ignore' : 'pipe', want('stdout'), want('stderr')],
      shell: false,
      detached: true,
      windowsHide: true,
    })
  } catch (error) {
    return notStarted(Promise.resolve(codeOf(error)))
  }
  if (child.pid === undefined)
    return notStarted(new Promise((resolve) => child.once('error', (error) => resolve(codeOf(error)))))
  return running(world, start, child, child.pid)
}

function running(
  world: Pick<World, 'after'>,
  start: ProgramStart,
  child: ChildProcess,
  pid: number,
): Program {
  const kept = { stdout: new Growing(start.maxBytes), stderr: new Growing(start.maxBytes) }
  const streams = [child.stdin, child.stdout, child.stderr].filter((stream) => stream !== null)
  let left = start.maxBytes
  let grace: Timer | undefined
  let drain: Timer | undefined
  let exited: { readonly code: number | null; readonly signal: string | null } | undefined
  let tellEnd: (end: ProgramEnd) => void = () => {}
  let tellGone: () => void = () => {}
  const end = new Promise<ProgramEnd>((resolve) => {
    tellEnd = resolve
  })
  const gone = new Promise<void>((resolve) => {
    tellGone = resolve
  })

  function keep(name: 'stdout' | 'stderr', chunk: Uint8Array): void {
    if (left < 0) return
    left -= chunk.length
    if (left >= 0) kept[name].add(chunk)
    else {
      kill('SIGKILL')
      tellEnd({ kind: 'too-large' })
    }
  }

  function kill(signal: NodeJS.Signals): void {
    // After its end the number may be somebody else's.
    if (exited === undefined) killGroup(pid, signal)
  }

  function finish(): void {
    drain?.cancel()
    for (const stream of streams) stream.destroy()
    const [stdout, stderr] = [kept.stdout.take(), kept.stderr.take()]
    if (typeof exited?.code === 'number') tellEnd({ kind: 'exit', code: exited.code, stdout, stderr })
    else tellEnd({ kind: 'signal', signal: exited?.signal ?? 'UNKNOWN', stderr })
    tellGone()
  }

  for (const stream of streams) stream.on('error', () => {})
  // A signal that could not be sent: the process has ended, and says so itself.
  child.on('error', () => {})
  for (const name of start.keep) child[name]?.on('data', (chunk: Uint8Array) => keep(name, chunk))
  child.once('exit', (code, signal) => {
    grace?.cancel()
    // What it has left behind in its group ends with it. It was reaped in this very tick.
    killGroup(pid, 'SIGKILL')
    exited = { code, signal }
    // Twice, so that what is in the pipes is read between, however busy this process is.
    drain = world.after(DRAIN_MS, () => {
      drain = world.after(DRAIN_MS, finish)
    })
  })
  child.once('close', finish)
  if (start.input !== undefined) child.stdin?.end(start.input)

  return {
    end,
    gone,
    stop(graceMs) {
      grace?.cancel()
      if (graceMs <= 0) return kill('SIGKILL')
      kill('SIGTERM')
      grace = world.after(graceMs, () => kill('SIGKILL'))
    },
  }
}

function notStarted(code: Promise<string>): Program {
  const end = code.then((text): ProgramEnd => ({ kind: 'not-started', code: text }))
  return { end, gone: end.then(() => {}), stop() {} }
}

function killGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal)
  } catch {
    // Nobody of the group is left.
  }
}

function codeOf(error: unknown): string {
  const code = (error as NodeJS.ErrnoException | undefined)?.code
  return typeof code === 'string' ? code : 'UNKNOWN'
}
