// Keeps the lease of this process, takes over what others left behind, and hears what they ask (S35, S38).
//
// A process ends another one's life only after it has kept its own lease for a whole one without a gap: after an outage
// of the database everybody's lease is over, and all of them come back.
import type { SharedShare } from '../pipeline/share.ts'
import { StoreUnavailable } from '../store/store.ts'
import { onlyUnavailable } from '../store/unavailable.ts'
import { errorPlace } from '../util/error-place.ts'
import type { Timer } from '../util/world.ts'
import type { Recovered } from './recover.ts'
import type { DriverKit } from './timers.ts'

const PAGE = 100
/** Renewals in one lease: a send needs a third of it to be left. */
const RENEWALS = 5

export interface LivesOptions {
  readonly share: SharedShare
  /** Makes live what other processes have declared: what they left behind may be of it. */
  readonly refresh: () => Promise<unknown>
  /** Takes over what ended lives left. */
  readonly recover: () => Promise<Recovered>
  /** Closes what could not be closed while the database was away. */
  readonly sweep: () => Promise<void>
  /** Somebody, somewhere, asked to cancel what this process works on. */
  readonly onCancel: (entryId: string) => void
}

export interface LifeLoop {
  /** The first renewal is done: shares are known. */
  readonly ready: Promise<void>
  stop(): Promise<void>
}

export function startLives(kit: DriverKit, options: LivesOptions): LifeLoop {
  const { world, store, events } = kit
  const { leaseMs } = store.lives
  const every = leaseMs / RENEWALS
  let steadySince: number | undefined
  /** The newest life that the share was made with. */
  let seen = 0
  let timer: Timer | undefined
  let stopped = false

  async function tick(): Promise<void> {
    const began = world.clock.monotonic()
    try {
      const lives = await store.lives.renew(kit.admission.over(), seen)
      // It had to wait for the database: others may have had to, and not be back yet.
      if (world.clock.monotonic() - began > every) steadySince = undefined
      seen = Math.max(seen, ...lives.map((life) => life.ordinal))
      // Read off the clock before the store was asked: an old view may only make the share smaller.
      options.share.update(lives, began)
      await cancelAsked()
      await options.sweep()
      if (steadySince === undefined) steadySince = world.clock.monotonic()
      else if (began - steadySince >= leaseMs) {
        await options.refresh()
        await takeOver()
      }
    } catch (error) {
      steadySince = undefined
      if (error instanceof StoreUnavailable) return
      events.emit('timer:failed', { namespace: '', kind: 'lives', subject: '', error: errorPlace(error) })
    }
  }

  async function cancelAsked(): Promise<void> {
    for (const { id } of await store.entries.cancelRequests(PAGE)) options.onCancel(id)
  }

  async function takeOver(): Promise<void> {
    // Asked for together: what is left by the lives that end here is taken over in the same write.
    const [reaped, recovered] = await Promise.allSettled([store.lives.reap(), options.recover()])
    if (reaped.status === 'rejected') throw reaped.reason
    for (const epoch of reaped.value) events.emit('life:ended', { epoch })
    if (recovered.status === 'rejected') throw recovered.reason
    const { unknown, closed } = recovered.value
    if (unknown + closed > 0) events.emit('recovery:ended', recovered.value)
  }

  async function run(): Promise<void> {
    await tick()
    if (!stopped) {
      timer = world.after(every, () => {
        running = run()
      })
    }
  }

  const unlisten = store.peers?.onChanged(() => {
    cancelAsked().catch(onlyUnavailable)
  })
  let running: Promise<void> = run()
  const ready = running

  return {
    ready,
    async stop() {
      stopped = true
      timer?.cancel()
      unlisten?.()
      await running
    },
  }
}
