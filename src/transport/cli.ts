// Tools that are programs of this machine, started without a shell.
//
// Only isolation `none` is built: whatever a tool declares beyond it is refused, never weakened.
import { stat } from 'node:fs/promises'
import type { CallFact, ResolvedCli } from '../resource/resolved-cli.ts'
import { createSlots } from '../util/slots.ts'
import { abortRefusal } from './abort-refusal.ts'
import { createArguments } from './cli-arguments.ts'
import { createCommands, type FoundCommand } from './cli-command.ts'
import { cliReply } from './cli-reply.ts'
import { type Program, startProgram } from './program.ts'
import { traceparent } from './traceparent.ts'
import type { Refusal, Reply, Send, Transport, TransportOptions } from './transport.ts'

/** From TERM to KILL. The caller is not kept waiting for it. */
const GRACE_MS = 2_000
/** How long the end of the transport waits for what does not even obey KILL. */
const CLOSE_MS = 1_000
/** At a time, of all tools; the others wait before anything is sent. */
const MAX_PROGRAMS = 128

export function createCliTransport({ world, cliAllow = [] }: TransportOptions): Transport {
  const commands = createCommands(cliAllow)
  const argumentsOf = createArguments()
  const slots = createSlots(MAX_PROGRAMS)
  const running = new Set<Program>()
  let closed = false

  function waitFor(program: Program, cli: ResolvedCli, send: Send): Promise<Reply> {
    return new Promise((resolve) => {
      const unlisten = send.abort.listen((reason) => {
        program.stop(GRACE_MS)
        resolve(abortRefusal(reason, true, send))
      })
      void program.end.then((end) => {
        unlisten()
        resolve(cliReply(end, cli, send))
      })
    })
  }

  return {
    type: 'cli',

    async attempt(send, sink) {
      const { cli, isolation } = send.tool
      if (cli === undefined || isolation !== 'none') return notBuilt(isolation)
      const command = await commands.find(cli.command)
      if (!command.ok) return { kind: 'failure', definite: true, ...pathed(command) }
      if (!(await isFolder(cli.workingDir))) return noFolder(cli.workingDir)
      const made = argumentsOf(cli, send)
      if (!made.ok) return made.refusal
      const release = await slots.take(send.abort)
      let program: Program | undefined
      try {
        if (release === undefined || send.abort.reason !== undefined || closed)
          return abortRefusal(send.abort.reason ?? 'shutdown', false, send)
        sink.sending()
        // Stopped by the very last check of its caller: nothing runs, but `sending` has been said.
        if (send.abort.reason !== undefined) return abortRefusal(send.abort.reason, true, send)
        program = startProgram(world, {
          path: command.path,
          args: made.args,
          env: environmentOf(cli, send),
          folder: cli.workingDir,
          input: cli.stdinFromInput ? inputText(send) : undefined,
          keep: cli.output === 'both' ? ['stdout', 'stderr'] : [cli.output],
          maxBytes: send.tool.limits.outputBytes,
        })
      } finally {
        if (program === undefined) release?.()
      }
      const started = program
      running.add(started)
      void started.gone.then(() => {
        running.delete(started)
        release()
      })
      return waitFor(started, cli, send)
    },

    async close() {
      closed = true
      const left = [...running]
      for (const program of left) program.stop(0)
      await new Promise<void>((resolve) => {
        const late = world.after(CLOSE_MS, resolve)
        void Promise.all(left.map(({ gone }) => gone)).then(() => {
          late.cancel()
          resolve()
        })
      })
    },
  }
}

/** Nothing of the server's own: what is declared, what is told of the call, and secrets. */
function environmentOf(cli: ResolvedCli, send: Send): Record<string, string> {
  const told = Object.entries(cli.envCall).map(([name, fact]) => [name, factOf(fact, send)])
  return { ...cli.env, ...Object.fromEntries(told), ...send.credentials?.env }
}

function factOf(fact: CallFact, send: Send): string {
  switch (fact) {
    case 'key':
      return send.key
    case 'attempt':
      return String(send.attempt)
    case 'call_id':
      return send.callId
    case 'request_id':
      return send.requestId
    case 'operation':
      return send.operation.name
    case 'traceparent':
      return traceparent(send.trace)
    case 'deadline_unix_ms':
      return String(Math.round(send.deadlineUnixMs))
    case 'commit_token':
      return send.commitToken ?? ''
  }
}

/** A text for an operation without a schema is the raw input of the contract, and goes in as it is. */
function inputText({ input, text, operation }: Send): string {
  if (input === undefined) return ''
  if (typeof input === 'string' && operation.inputSchema === undefined) return input
  return text ?? JSON.stringify(input)
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory()
  } catch {
    return false
  }
}

function noFolder(path: string): Refusal {
  return {
    kind: 'failure',
    failure: 'config-invalid',
    message: `spec.cli.working_dir: '${path}' is no folder here`,
    fix: 'The operator makes it, or the owner of the tool corrects cli.working_dir.',
    details: { path: 'spec.cli.working_dir' },
    definite: true,
  }
}

function pathed({ failure, message, fix }: Extract<FoundCommand, { readonly ok: false }>) {
  return { failure, message, fix, details: { path: 'spec.cli.command' } }
}

function notBuilt(isolation: string): Refusal {
  return {
    kind: 'failure',
    failure: 'isolation-unavailable',
    message: `isolation ${isolation} is not built for programs`,
    fix: 'Declare runtime.isolation_mode: none.',
    definite: true,
  }
}
