// The network between one life of the process and the tools: undici's Dispatcher, with every way a request can go wrong.
//
// It keeps undici's promises, on which the transport's sent boundary rests: `onRequestStart` comes on a connected
// socket, in the tick in which the first byte leaves, and nothing leaves when the request is aborted inside it; a
// connection that fails never comes to it. A request that left arrives, or not, whatever becomes of the process.
import { Dispatcher } from 'undici'
import type { Agenda } from './agenda.ts'
import { type Fate, fateOf, idOf } from './fate.ts'
import type { History, Learned, Send, SendKind } from './history.ts'
import type { Life } from './life.ts'
import type { Weather } from './plan.ts'
import type { Random } from './random.ts'
import { ORIGIN, SIM_TOOL_BY_NAME } from './sim-tool.ts'
import type { ToolReply, ToolService } from './tool-service.ts'

/** Who is told what leaves and what comes back, and may end the process at that moment. */
export interface NetworkWatch {
  onDispatch(send: Send): void
  /** Before the first byte leaves. */
  onStart(send: Send): void
  onSent(send: Send): void
  onEnd(send: Send): void
  /** Work that is under way outside of every process. */
  onTravel(delta: 1 | -1): void
}

export interface NetworkOptions {
  readonly agenda: Agenda
  readonly history: History
  readonly service: ToolService
  /** As it is now: at the end of a run it clears up. */
  readonly weather: () => Weather
  readonly random: Random
  readonly watch: NetworkWatch
  readonly log: (line: string) => void
}

/** How each is sent. */
const KINDS: Readonly<Record<SendKind, string>> = {
  call: 'POST',
  status: 'GET',
  commit: 'POST',
  rollback: 'POST',
}

export class SimNetwork extends Dispatcher {
  readonly #life: Life
  readonly #options: NetworkOptions

  constructor(life: Life, options: NetworkOptions) {
    super()
    this.#life = life
    this.#options = options
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    if (this.#life.dead) return true
    const send = this.#read(options)
    const { weather, random } = this.#options
    const fate = fateOf(weather(), random, send)
    new Exchange(this.#options, send, fate, handler).begin()
    return true
  }

  #read(options: Dispatcher.DispatchOptions): Send {
    const { agenda, history } = this.#options
    const headers = headersOf(options.headers)
    const path = String(options.path)
    const [, name = '', , action, about = ''] = path.split('/')
    const tool = SIM_TOOL_BY_NAME.get(name)
    const call = history.callOfTrace(headers.get('traceparent')?.split('-')[1] ?? '')
    const kind = (action ?? 'call') as SendKind
    const known = KINDS[kind] === options.method && options.origin === ORIGIN
    if (tool === undefined || call === undefined || !known) {
      throw new Error(`a request that nobody asked for: ${options.method} ${String(options.origin)}${path}`)
    }
    const key = headers.get(tool.keyHeader) ?? ''
    const undoes = tool.undoes !== undefined && tool.undoes === call.record.tool.name
    const send: Send = {
      number: history.sends.length + 1,
      kind,
      life: this.#life,
      call,
      record: undoes ? history.undoRecord(tool, key, call.record) : call.record,
      tool,
      token: kind === 'commit' || kind === 'rollback' ? decodeURIComponent(about) : '',
      path,
      key,
      attempt: Number(headers.get('writ-attempt')),
      body: typeof options.body === 'string' ? options.body : '',
      dispatchedAt: agenda.now,
      startedAt: undefined,
      endedAt: undefined,
      learned: undefined,
      retryAfterMs: undefined,
    }
    history.sends.push(send)
    if (kind !== 'call') send.record.errands.push(send)
    else {
      if (!undoes) call.sends.push(send)
      send.record.sends.push(send)
    }
    return send
  }

  override close(): Promise<void>
  override close(callback: () => void): void
  override close(callback?: () => void): Promise<void> | void {
    if (callback === undefined) return Promise.resolve()
    callback()
  }
}

function headersOf(list: Dispatcher.DispatchOptions['headers']): Map<string, string> {
  const headers = new Map<string, string>()
  if (!Array.isArray(list)) throw new Error('the headers of a request are a flat list')
  for (let index = 0; index < list.length; index += 2) {
    headers.set(String(list[index]).toLowerCase(), String(list[index + 1]))
  }
  return headers
}

class Exchange {
  readonly #options: NetworkOptions
  readonly #send: Send
  readonly #fate: Fate
  readonly #handler: Dispatcher.DispatchHandler
  readonly #controller: Dispatcher.DispatchController
  #aborted: Error | null = null
  #over = false

  constructor(options: NetworkOptions, send: Send, fate: Fate, handler: Dispatcher.DispatchHandler) {
    this.#options = options
    this.#send = send
    this.#fate = fate
    this.#handler = handler
    const aborted = () => this.#aborted
    this.#controller = {
      get aborted() {
        return aborted() !== null
      },
      get reason() {
        return aborted()
      },
      paused: false,
      abort: (reason) => this.#abort(reason),
      pause() {},
      resume() {},
    }
  }

  begin(): void {
    const { watch } = this.#options
    const { connectMs, refused } = this.#fate
    this.#log('dispatch')
    watch.onDispatch(this.#send)
    if (refused) this.#later(connectMs, 'refused', () => this.#fail('ECONNREFUSED'))
    else if (connectMs === 0 && this.#send.life.held === undefined) this.#start()
    else this.#later(connectMs, 'connected', () => this.#start())
  }

  /** The sent boundary. */
  #start(): void {
    const { agenda, watch } = this.#options
    watch.onStart(this.#send)
    if (this.#send.life.dead) return
    this.#handler.onRequestStart?.(this.#controller, {})
    if (this.#aborted !== null) return
    this.#send.startedAt = agenda.now
    this.#log('sent')
    this.#travel(this.#fate.uploadMs, 'arrived', () => this.#arrive())
    watch.onSent(this.#send)
  }

  #arrive(): void {
    const { lost, abortStops, workMs } = this.#fate
    const resets = lost && this.#dice('lost').chance(0.5)
    if (resets) this.#later(0, 'reset', () => this.#fail('ECONNRESET'))
    if (lost || (this.#aborted !== null && abortStops)) return
    const { service, agenda } = this.#options
    const reply = service.arrive(this.#send)
    if (reply !== undefined) {
      this.#reply(reply)
      return
    }
    this.#travel(workMs, 'worked', () => {
      this.#reply(service.handle(this.#send, agenda.now, this.#dice('tool')))
    })
  }

  #reply(reply: ToolReply): void {
    const { reply: fate, replyMs } = this.#fate
    this.#log(`tool says ${reply.status} ${reply.means}${fate === 'whole' ? '' : `, reply ${fate}`}`)
    if (fate === 'lost') return
    this.#later(replyMs, 'reply', () => {
      if (fate === 'reset') return this.#fail('UND_ERR_SOCKET')
      const { body, headers, status } = reply
      this.#handler.onResponseStart?.(this.#controller, status, { ...headers }, '')
      const half = Math.floor(body.length / 2)
      if (fate === 'whole') return this.#end(body, reply)
      this.#handler.onResponseData?.(this.#controller, Buffer.from(body.slice(0, half)))
      if (fate === 'cut') return this.#fail('UND_ERR_SOCKET')
      this.#later(this.#dice('slow').int(1, 1_500), 'rest', () => this.#end(body.slice(half), reply))
    })
  }

  #end(rest: string, reply: ToolReply): void {
    this.#send.retryAfterMs = reply.retryAfterMs
    this.#close(reply.means)
    this.#handler.onResponseData?.(this.#controller, Buffer.from(rest))
    this.#handler.onResponseEnd?.(this.#controller, {})
  }

  #fail(code: string): void {
    this.#close('not-definite')
    this.#handler.onResponseError?.(this.#controller, Object.assign(new Error(code), { code }))
  }

  #abort(reason: Error): void {
    if (this.#over) return
    this.#aborted = reason
    this.#close('not-definite')
    this.#options.agenda.soon(this.#send.life, 'closed', () => {
      this.#handler.onResponseError?.(this.#controller, reason)
    })
  }

  #close(learned: Learned): void {
    const { agenda, watch } = this.#options
    this.#over = true
    this.#send.endedAt = agenda.now
    if (this.#send.startedAt !== undefined) this.#send.learned = learned
    this.#log(`ended ${this.#send.learned ?? 'unsent'}`)
    watch.onEnd(this.#send)
  }

  /** Comes to the process; not once the request is over, nor to a process that is gone. */
  #later(ms: number, label: string, run: () => void): void {
    this.#options.agenda.after(ms, this.#send.life, `send ${this.#send.number} ${label}`, () => {
      if (!this.#over) run()
    })
  }

  /** Happens whatever becomes of the process. */
  #travel(ms: number, label: string, run: () => void): void {
    const { agenda, watch } = this.#options
    const { record } = this.#send
    watch.onTravel(1)
    record.travelling++
    agenda.after(ms, undefined, `send ${this.#send.number} ${label}`, () => {
      watch.onTravel(-1)
      record.travelling--
      run()
    })
  }

  #dice(what: string): Random {
    return this.#options.random.fork(what, ...idOf(this.#send))
  }

  #log(what: string): void {
    const { number, call, tool, attempt, kind } = this.#send
    const about = kind === 'call' ? tool.name : `${kind} of ${tool.name}`
    this.#options.log(`  send ${number} (${call.name} ${about} attempt ${attempt}): ${what}`)
  }
}
