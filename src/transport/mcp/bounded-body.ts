// The body of a reply, of which no more is read than somebody could want.

export interface BodyLimits {
  /** Of all of it; for a stream of events that stays open: of one event. */
  readonly maxBytes: number
  readonly perEvent: boolean
  /** Of all events together. */
  readonly maxTotal: number
  tooLarge(): void
  /** Nothing more comes. `resumable`: an event had an id, so the rest can be asked for. */
  ended(resumable: boolean): void
}

const NEWLINE = 0x0a
const RETURN = 0x0d
/** `id:` at the start of a line. */
const ID = [0x69, 0x64, 0x3a] as const

export function boundedBody(
  body: ReadableStream<Uint8Array>,
  limits: BodyLimits,
): ReadableStream<Uint8Array> {
  let bytes = 0
  let total = 0
  let blank = true
  /** How many bytes of `id:` this line begins with; -1 when it begins with something else. */
  let matched = 0
  let resumable = false

  function scan(chunk: Uint8Array): void {
    for (const byte of chunk) {
      bytes++
      if (byte === RETURN) continue
      if (byte === NEWLINE) {
        if (blank && limits.perEvent) bytes = 0
        blank = true
        matched = 0
        continue
      }
      blank = false
      if (matched === -1 || matched === ID.length) continue
      matched = byte === ID[matched] ? matched + 1 : -1
      if (matched === ID.length) resumable = true
    }
  }

  const reader = body.getReader()
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (done) {
          controller.close()
          limits.ended(resumable)
          return
        }
        scan(value)
        total += value.length
        if (bytes > limits.maxBytes || total > limits.maxTotal) {
          limits.tooLarge()
          controller.error(new Error('the reply is larger than the limit'))
          await reader.cancel().catch(() => {})
          return
        }
        controller.enqueue(value)
      } catch (error) {
        controller.error(error)
        limits.ended(resumable)
      }
    },
    cancel: (reason) => reader.cancel(reason),
  })
}
