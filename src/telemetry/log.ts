// The runtime's events as lines of JSON. Inputs and outputs are in no event, so they are in no line, at any level (S53).
import { closeSync, openSync } from 'node:fs'
import { type LevelWithSilent, type Logger, pino } from 'pino'
import type { CallEvent, Events } from '../event/event.ts'
import type { World } from '../util/world.ts'
import { createLineWriter, type LineWriter } from './line-writer.ts'

export interface LogOptions {
  readonly world: Pick<World, 'clock' | 'after'>
  /** @default 'stderr' */
  readonly destination?: 'stderr' | 'stdout' | { readonly file: string }
  /** Starts of calls and failed attempts are `debug`. @default 'info' */
  readonly level?: LevelWithSilent
  /** Told once when lines can no longer be written, such as a closed pipe; calls go on. */
  readonly onFailed?: (error: Error) => void
}

export interface Log {
  /** For everything that is no event. */
  readonly logger: Logger
  /** Lines lost because the destination was gone, or slower than the runtime for too long. */
  readonly dropped: number
  /** Writes a line per event from now on. Returns how to stop. */
  watch(events: Events): () => void
  /** Resolves when every line has left. */
  close(): Promise<void>
}

export function createLog(options: LogOptions): Log {
  const { world, destination = 'stderr' } = options
  const fd =
    destination === 'stderr' ? 2 : destination === 'stdout' ? 1 : openSync(destination.file, 'a', 0o600)
  const writer = createLineWriter({
    fd,
    world,
    onFailed(error) {
      logger.level = 'silent'
      options.onFailed?.(error)
    },
    onDropped: (lines) => logger.warn({ lines }, 'log lines were dropped: their destination was too slow'),
  })
  const logger = pino(
    {
      level: options.level ?? 'info',
      // No pid and host name: whoever collects the lines knows them.
      base: null,
      timestamp: () => `,"time":"${new Date(world.clock.now()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    writer,
  )
  let closing: Promise<void> | undefined

  return {
    logger,
    get dropped() {
      return writer.dropped
    },
    watch: (events) => watch(events, logger, writer),
    close() {
      closing ??= writer.end().then(() => {
        if (fd > 2) closeSync(fd)
      })
      return closing
    },
  }
}

function watch(events: Events, logger: Logger, writer: LineWriter): () => void {
  const stops: (() => void)[] = []
  // A listener makes the runtime build the event: none is registered for lines that nobody reads.
  if (logger.isLevelEnabled('debug')) {
    stops.push(
      events.on('call:started', (event) =>
        writer.write(callLine('debug', event.started_at, event, 'call started')),
      ),
      events.on('attempt:failed', (event) => logger.debug(event, 'attempt failed')),
    )
  }
  if (logger.isLevelEnabled('info')) {
    stops.push(
      events.on('call:ended', (event) => writer.write(callLine('info', event.ended_at, event, 'call ended'))),
      events.on('tool:applied', (event) => logger.info(event, 'tool applied')),
      events.on('entry:settled', (event) => logger.info(event, 'an unknown effect is known now')),
      events.on('approval:requested', (event) => logger.info(event, 'a call waits for approval')),
      events.on('approval:decided', (event) => logger.info(event, 'an approval was decided, or has ended')),
      events.on('store:back', (event) => logger.info(event, 'the database can be reached again')),
    )
  }
  stops.push(
    events.on('recovery:ended', (event) => {
      if (event.unknown > 0)
        logger.warn(event, 'recovery ended; effects that may have happened wait to be settled')
      else logger.info(event, 'recovery ended')
    }),
    events.on('entry:unknown', (event) =>
      logger.warn(event, 'an effect may have happened; look it up and settle it'),
    ),
    events.on('life:ended', (event) =>
      logger.warn(event, 'another process has ended; what it had under way is taken over'),
    ),
    events.on('timer:failed', (event) =>
      logger.warn(event, 'what was due could not be done; it is tried again'),
    ),
    events.on('notify:failed', (event) =>
      logger.warn(
        event,
        event.retry_in_ms === null
          ? 'a target was not told of an approval, and will not be'
          : 'a target could not be told of an approval; it is tried again',
      ),
    ),
    events.on('audit:failed', (event) =>
      logger.warn(event, 'a checkpoint of the evidence could not be made or kept; it is tried again'),
    ),
    events.on('secret:failed', (event) =>
      logger.warn(event, 'a credential could not be had; calls that need it fail'),
    ),
    events.on('audit:rewound', (event) =>
      logger.error(event, 'the store is older than what was vouched for; somebody chose to go on'),
    ),
    events.on('store:away', (event) =>
      logger.error(event, 'the database cannot be reached; nothing new is taken until it can'),
    ),
    events.on('tool:crashed', (event) => logger.error(event, 'a tool of this program threw')),
    events.on('call:faulted', (event) =>
      logger.error(event, 'a fault inside Writ ended a call; please report it'),
    ),
    events.on('store:failed', (event) => logger.fatal(event, 'the store failed; nothing is sent any more')),
  )
  return () => {
    for (const stop of stops) stop()
  }
}

/** The line pino would write, at a quarter of its cost: it goes through thirty fields one by one, on every call. */
function callLine(level: string, time: string, event: CallEvent, message: string): string {
  return `{"level":"${level}","time":"${time}",${JSON.stringify(event).slice(1, -1)},"msg":"${message}"}\n`
}
