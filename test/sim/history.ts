// What is known of a run from outside the runtime: who asked for what, what left the process, what the tools did.
import type { Answer } from '../../src/contract/answer.ts'
import type { Json } from '../../src/util/json.ts'
import type { Life } from './life.ts'
import type { Ask } from './plan.ts'
import { SIM_TOOL_BY_NAME, type SimTool } from './sim-tool.ts'

/** What the process can know of a send once it is over. */
export type Learned = 'success' | 'nothing-done' | 'not-definite'

/** What a request is about: the call itself, or something about one that was made before (S27). */
export type SendKind = 'call' | 'status' | 'commit' | 'rollback'

/** One request, from the moment the runtime handed it to the network. */
export interface Send {
  readonly number: number
  readonly kind: SendKind
  readonly life: Life
  readonly call: SimCall
  /** The record of its call, or of what undoes that. */
  readonly record: KeyRecord
  readonly tool: SimTool
  /** What a commit or rollback is about, in the tool's own words. */
  readonly token: string
  readonly path: string
  /** The key as the tool receives it. */
  readonly key: string
  readonly attempt: number
  readonly body: string
  readonly dispatchedAt: number
  /** When its first byte left. */
  startedAt: number | undefined
  endedAt: number | undefined
  learned: Learned | undefined
  /** What the tool asked for before the next one. */
  retryAfterMs: number | undefined
}

/** One execution at a tool. */
export interface Run {
  readonly send: Send
  readonly at: number
  /** Only prepared: nothing has happened yet. */
  readonly prepares: boolean
  /** Whether it changed the world. A keyed tool that remembers the key changes nothing. */
  readonly changed: boolean
  readonly output: Json
}

/** What a key was last told, where that may not change any more. */
export interface Told {
  readonly call: SimCall
  readonly answer: Answer
  readonly at: number
}

/** Everything about one key: (actor, tool, key text). */
export interface KeyRecord {
  readonly actor: string
  readonly tool: SimTool
  readonly key: string
  readonly fresh: boolean
  /** What it undoes, where Writ itself asks for it. */
  readonly undoes: KeyRecord | undefined
  readonly calls: SimCall[]
  readonly sends: Send[]
  /** Commits, rollbacks and questions about it. */
  readonly errands: Send[]
  readonly runs: Run[]
  /** Requests about it that are on their way or being worked on. */
  travelling: number
  /** Somebody said by hand what became of it (S28). */
  settledByHand: boolean
  /** Somebody asked for it to be undone. */
  undoAsked: boolean
  /** The key under which the tool knows it. */
  toolKey: string | undefined
  /** The remembered outcome, by what was asked for (S13). */
  told: Told | undefined
  /** The answer that said unknown for good, or that an approval is waited for. */
  open: Told | undefined
  /** No attempt up to this one had or ever gets an effect: somebody was told so. */
  notDoneUpTo: number
  /** It was intended and not settled when its process died. */
  interrupted: boolean
}

/** One call by a client: an ask, or the same ask again. */
export interface SimCall {
  readonly name: string
  readonly ask: Ask
  readonly record: KeyRecord
  readonly life: Life
  readonly traceId: string
  readonly sends: Send[]
  /** Writ's own id; '' while the request is on its way. */
  id: string
  startedAt: number
  /** When its caller stops listening; Infinity where it named no deadline. */
  deadline: number
  /** By when it must be answered. */
  bound: number
  canceledAt: number | undefined
  answer: Answer | undefined
  answeredAt: number | undefined
  /** It was answered, and a crash took the record of it within the lag (S34). */
  forgotten: boolean
}

export class History {
  readonly records = new Map<string, KeyRecord>()
  readonly undos = new Map<string, KeyRecord>()
  readonly calls: SimCall[] = []
  readonly #byTrace = new Map<string, SimCall>()
  readonly #byId = new Map<string, SimCall>()
  readonly runs: Run[] = []
  readonly sends: Send[] = []
  /** When a tool said that something had not happened, to which question. */
  readonly saidNotDone: { readonly send: Send; readonly at: number }[] = []
  /** Tools of which a second build was applied; another replica may know only one of the two. */
  readonly upgraded = new Set<string>()
  /** Tools whose first build was taken away. */
  readonly removed = new Set<string>()

  addCall(ask: Ask, name: string, life: Life): SimCall {
    const number = this.calls.length + 1
    const record = this.#recordOf(ask, number)
    const call: SimCall = {
      name,
      ask,
      record,
      life,
      traceId: number.toString(16).padStart(32, '0'),
      sends: [],
      id: '',
      startedAt: 0,
      deadline: Number.POSITIVE_INFINITY,
      bound: Number.POSITIVE_INFINITY,
      canceledAt: undefined,
      answer: undefined,
      answeredAt: undefined,
      forgotten: false,
    }
    this.calls.push(call)
    this.#byTrace.set(call.traceId, call)
    record.calls.push(call)
    return call
  }

  named(call: SimCall, id: string): void {
    call.id = id
    this.#byId.set(id, call)
  }

  callOfTrace(traceId: string): SimCall | undefined {
    return this.#byTrace.get(traceId)
  }

  callOfId(id: string): SimCall | undefined {
    return this.#byId.get(id)
  }

  /** What changed the world on behalf of one identity (S14), whoever asked. */
  changesOfIdentity(tool: SimTool, item: Json | undefined): Run[] {
    return this.runs.filter(
      ({ send, changed }) => changed && send.tool === tool && send.call.ask.input.item === item,
    )
  }

  #recordOf(ask: Ask, number: number): KeyRecord {
    const key = ask.key ?? ask.requestId ?? `fresh-${number}`
    const id = JSON.stringify([ask.actor, ask.tool, key])
    const known = this.records.get(id)
    if (known !== undefined) return known
    const tool = SIM_TOOL_BY_NAME.get(ask.tool)
    if (tool === undefined) throw new Error(`no such tool: ${ask.tool}`)
    const record: KeyRecord = {
      actor: ask.actor,
      tool,
      key,
      fresh: ask.key === undefined && ask.requestId === undefined,
      undoes: undefined,
      ...blank(),
    }
    this.records.set(id, record)
    return record
  }

  /** The record of what Writ itself sends to undo a call: by the key that the tool receives. */
  undoRecord(tool: SimTool, key: string, undoes: KeyRecord): KeyRecord {
    const id = JSON.stringify([tool.name, key])
    const known = this.undos.get(id)
    if (known !== undefined) return known
    const { actor } = undoes
    const record: KeyRecord = { actor, tool, key: `undo of ${undoes.key}`, fresh: true, undoes, ...blank() }
    this.undos.set(id, record)
    return record
  }
}

function blank(): Omit<KeyRecord, 'actor' | 'tool' | 'key' | 'fresh' | 'undoes'> {
  return {
    calls: [],
    sends: [],
    errands: [],
    runs: [],
    travelling: 0,
    settledByHand: false,
    undoAsked: false,
    toolKey: undefined,
    told: undefined,
    open: undefined,
    notDoneUpTo: 0,
    interrupted: false,
  }
}

/** What changed the world for a key. */
export function effectsOf(record: KeyRecord): Run[] {
  return record.runs.filter((run) => run.changed)
}

/** Two asks with one key are the same call when these are equal (S13). */
export function samenessOf(ask: Ask, tool: SimTool): string {
  return tool.onRepeat === undefined ? JSON.stringify(ask.input) : JSON.stringify(ask.input.item)
}
