// What is known of a run from outside the runtime: who asked for what, what left the process, what the tools did.
import type { Answer } from '../../src/contract/answer.ts'
import type { Json } from '../../src/util/json.ts'
import type { Life } from './life.ts'
import type { Ask } from './plan.ts'
import { SIM_TOOL_BY_NAME, type SimTool } from './sim-tool.ts'

/** What the process can know of a send once it is over. */
export type Learned = 'success' | 'nothing-done' | 'not-definite'

/** One request, from the moment the runtime handed it to the network. */
export interface Send {
  readonly number: number
  readonly life: Life
  readonly call: SimCall
  readonly tool: SimTool
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
  readonly calls: SimCall[]
  readonly sends: Send[]
  readonly runs: Run[]
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
  readonly calls: SimCall[] = []
  readonly #byTrace = new Map<string, SimCall>()
  readonly #byId = new Map<string, SimCall>()
  readonly runs: Run[] = []
  readonly sends: Send[] = []
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
      calls: [],
      sends: [],
      runs: [],
      toolKey: undefined,
      told: undefined,
      open: undefined,
      notDoneUpTo: 0,
      interrupted: false,
    }
    this.records.set(id, record)
    return record
  }
}

/** Two asks with one key are the same call when these are equal (S13). */
export function samenessOf(ask: Ask, tool: SimTool): string {
  return tool.onRepeat === undefined ? JSON.stringify(ask.input) : JSON.stringify(ask.input.item)
}
