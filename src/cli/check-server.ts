// What `writ doctor` asks a server: whether it is there, takes calls, knows the token, and has the same time.
import type { HealthReply } from '../client/api.ts'
import { createClient } from '../client/client.ts'
import { ClientError } from '../client/client-error.ts'
import { type Check, fail, ok, warn } from './check.ts'
import { CliError, EXIT, messageOf } from './cli-error.ts'
import { fixOf } from './failure-text.ts'
import { type FoundServer, findServer, stoppingOf } from './find-server.ts'
import type { Terminal } from './terminal.ts'

/** Past this, deadlines that callers send as wall time go wrong. */
const SKEW_WARN_MS = 5_000
const SKEW_FAIL_MS = 60_000
const TIMEOUT_MS = 5_000
const WAIT = "wait until it has ended, then run 'writ up'"

export async function checkServer(terminal: Terminal, data: string | undefined): Promise<readonly Check[]> {
  let found: FoundServer
  try {
    found = findServer(terminal, data)
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    const missing = error.exit === EXIT.retryable ? warn : fail
    return [missing('server', error.message, error.fix ?? ''), checkOwnClock(terminal)]
  }
  const client = createClient({ url: found.url, token: found.token, timeoutMs: TIMEOUT_MS })
  try {
    const health = await client.health()
    const server = readiness(found, health)
    const access = await checkAccess(terminal, () => client.listCalls({ limit: 1 }))
    return [server, access, checkSkew(terminal, health.at)]
  } catch (error) {
    const stopping = stoppingOf(found, error)
    if (stopping !== undefined)
      return [warn('server', stopping.message, stopping.fix ?? ''), checkOwnClock(terminal)]
    const fix = error instanceof ClientError ? (error.fix ?? '') : ''
    return [fail('server', messageOf(error), fix), checkOwnClock(terminal)]
  } finally {
    await client.close()
  }
}

function readiness({ url }: FoundServer, { ready, reasons }: HealthReply): Check {
  if (ready) return ok('server', `${url} takes calls`)
  if (reasons.some((reason) => reason.startsWith('server: shutting down'))) {
    return warn('server', `${url} is stopping: it takes no new calls and lets those under way end`, WAIT)
  }
  return fail('server', `${url} takes no calls: ${reasons.join('; ')}`, 'see its log')
}

async function checkAccess(terminal: Terminal, request: () => Promise<unknown>): Promise<Check> {
  try {
    await request()
    return ok('token', 'the server accepts it')
  } catch (error) {
    const fix = error instanceof ClientError ? (fixOf(error, terminal) ?? '') : ''
    return fail('token', messageOf(error), fix)
  }
}

function checkSkew(terminal: Terminal, at: number | undefined): Check {
  if (at === undefined) return checkOwnClock(terminal)
  const skew = Math.abs(terminal.clock.now() - at)
  // The header has whole seconds.
  const seconds = Math.round(skew / 1000)
  if (skew < SKEW_WARN_MS) return ok('clock', 'agrees with the server')
  const verdict = skew < SKEW_FAIL_MS ? warn : fail
  return verdict(
    'clock',
    `differs from the server by ${seconds} s`,
    'let NTP set the clocks of both machines',
  )
}

/** Nothing to compare with: only a clock that was never set can be told. */
function checkOwnClock(terminal: Terminal): Check {
  const year = new Date(terminal.clock.now()).getUTCFullYear()
  if (year >= 2026) return ok('clock', new Date(terminal.clock.now()).toISOString())
  return fail('clock', `says it is the year ${year}`, 'set the clock of this machine')
}
