// The network between one life of the process and the tools: undici's Dispatcher, with every way a request can go wrong.
//
// It keeps undici's promises, on which the transport's sent boundary rests: `onRequestStart` comes on a connected
// socket, in the tick in which the first byte leaves, and nothing leaves when the request is aborted inside it; a
// connection that fails never comes to it. A request that left arrives, or not, whatever becomes of the process.
import { Dispatcher } from 'undici'
import type { Agenda } from './agenda.ts'
import type { History, Learned, Send } from './history.ts'
import type { Life } from './life.ts'
import { LATE_MS, type Weather } from './plan.ts'
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
  readonly weather: Weather
  readonly random: Random
  readonly watch: NetworkWatch
  readonly log: (line: string) => void
}

interface Fate {
  readonly refused: boolean
  /** 0: on a connection that is open already, in the tick of the dispatch. */
  readonly connectMs: number
  readonly uploadMs: number
  readonly lost: boolean
  /** Whether an abort overtakes a request that is still on its way. */
  readonly abortStops: boolean
  readonly workMs: number
  readonly reply: 'whole' | 'slow' | 'cut' | 'reset' | 'lost'
  readonly replyMs: number
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
    const fate = fateOf(this.#options, send)
    new Exchange(this.#options, send, fate, handler).begin()
    return true
  }

  #read(options: Dispatcher.DispatchOptions): Send {
    const { agenda, history } = this.#options
    const headers = headersOf(options.headers)
    const path = String(options.path)
    const tool = SIM_TOOL_BY_NAME.get(path.split('/')[1] ?? '')
    const call = history.callOfTrace(headers.get('traceparent')?.split('-')[1] ?? '')
    if (tool === undefined || call === undefined || options.origin !== ORIGIN || options.method !== 'POST') {
      throw new Error(`a request that nobody asked for: ${options.method} ${String(options.origin)}${path}`)
    }
    const send: Send = {
      number: history.sends.length + 1,
      life: this.#life,
      call,
      tool,
      path,
      key: headers.get(tool.keyHeader) ?? '',
      attempt: Number(headers.get('writ-attempt')),
      body: typeof options.body === 'string' ? options.body : '',
      dispatchedAt: agenda.now,
      startedAt: undefined,
      endedAt: undefined,
      learned: undefined,
      retryAfterMs: undefined,
    }
    history.sends.push(send)
    call.sends.push(send)
    call.record.sends.push(send)
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

/** Depends on the call and the attempt alone, so that it stays the same when other calls are taken out. */
function fateOf({ weather, random }: NetworkOptions, send: Send): Fate {
  const dice = random.fork('send', send.call.name, send.attempt, send.call.sends.length)
  const short = () => dice.int(0, weather.latencyMs)
  const maybeLong = () => (dice.chance(weather.late) ? dice.int(200, LATE_MS) : short())
  return {
    refused: dice.chance(weather.refused),
    connectMs: dice.chance(0.5) ? 0 : maybeLong(),
    uploadMs: maybeLong(),
    lost: dice.chance(weather.lost),
    abortStops: dice.chance(0.5),
    workMs: maybeLong(),
    reply: dice.chance(weather.replyLost)
      ? dice.pick(['reset', 'lost'])
      : dice.chance(weather.cut)
        ? 'cut'
        : dice.chance(weather.slow)
          ? 'slow'
          : 'whole',
    replyMs: maybeLong(),
  }
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
    else if (connectMs === 0) this.#start()
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
    this.#travel(workMs, 'worked', () => {
      const { service, agenda } = this.#options
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
    watch.onTravel(1)
    agenda.after(ms, undefined, `send ${this.#send.number} ${label}`, () => {
      watch.onTravel(-1)
      run()
    })
  }

  #dice(what: string): Random {
    const { call, attempt } = this.#send
    return this.#options.random.fork(what, call.name, attempt, call.sends.length)
  }

  #log(what: string): void {
    const { number, call, tool, attempt } = this.#send
    this.#options.log(`  send ${number} (${call.name} ${tool.name} attempt ${attempt}): ${what}`)
  }
}
