// writ conformance: runs the conformance suite on a backend of this build, or on somebody's own service (S54).
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { BACKEND_NAMES } from '../../conformance/backend/registry.ts'
import type { LogCapture, Report, RequirementReport, Status, Subject } from '../../conformance/index.ts'
import type { Events } from '../../event/event.ts'
import { createLog } from '../../telemetry/log.ts'
import { Abort } from '../../util/abort.ts'
import { createSystemWorld } from '../../util/clock.ts'
import type { World } from '../../util/world.ts'
import { CliError, EXIT, messageOf, usageError } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG } from '../command.ts'
import { clean, printResult, renderTable, type Style, styleOf } from '../print.ts'
import { withProgress } from '../progress.ts'
import type { Terminal } from '../terminal.ts'

/** A requirement failed, or nothing could be tested. */
const NOT_CONFORMANT = 1

export const command = defineCommand({
  name: 'conformance',
  summary: 'Run the conformance suite',
  details: [
    'With --backend, tests a backend of this build with tools of its own. With --endpoint, tests a service of type external that you run: Writ calls it through a whole runtime. What an operation is needed for is not tested when the service lacks it, and never passed.',
    'The service takes v1 requests by POST. By tool.operation it offers echo (gives its input back), sleep (input {ms}: answers after so long), fail (input {code, retryable, message}: fails like that) and count (makes one effect under the idempotency_key and answers {count}, the effects made under that key; a key that comes again makes no second one).',
    'The exit code is 0 when nothing failed, else 1. A requirement that is limited or not tested does not fail, but is shown with the reason.',
  ],
  args: [],
  flags: {
    backend: { type: 'string', values: BACKEND_NAMES, description: 'Backend to test.', placeholder: 'NAME' },
    endpoint: { type: 'string', description: 'Address of a service to test.', placeholder: 'URL' },
    type: {
      type: 'string',
      values: ['external'],
      description: 'How the service at --endpoint is spoken to.',
      placeholder: 'TYPE',
    },
    timeout: {
      type: 'duration',
      description: 'How long one send may take, from 500ms to 10s. Default: 2s.',
      placeholder: 'TIME',
    },
    junit: {
      type: 'string',
      description: 'Also write the result to this file, as JUnit XML.',
      placeholder: 'FILE',
      completes: 'file',
    },
    ...OUTPUT_FLAG,
  },
  examples: [
    { line: 'writ conformance --backend http', does: 'Test the http backend of this build' },
    {
      line: 'writ conformance --endpoint http://127.0.0.1:8080/ --type external --junit conformance.xml',
      does: 'Test a service of your own, for a build server',
    },
  ],
  async run({ flags, terminal }) {
    const chosen = choose(flags)
    const junit = flags.junit === undefined ? undefined : resolve(terminal.cwd, flags.junit)
    // Made before the run: a file that cannot be written should not cost one.
    if (junit !== undefined) writeResult(junit, '')
    const report = await test(terminal, chosen, flags.timeout)
    if (junit !== undefined) {
      const { toJunit } = await import('../../conformance/index.ts')
      writeResult(junit, toJunit(report))
    }
    await printResult(terminal, flags.output, report, () => renderReport(report, styleOf(terminal)))
    return report.counts.failed === 0 ? EXIT.ok : NOT_CONFORMANT
  },
})

type Chosen =
  | { readonly backend: (typeof BACKEND_NAMES)[number] }
  | { readonly backend: undefined; readonly endpoint: string }

function choose(flags: {
  readonly backend: (typeof BACKEND_NAMES)[number] | undefined
  readonly endpoint: string | undefined
  readonly type: 'external' | undefined
}): Chosen {
  const { backend, endpoint, type } = flags
  if (backend !== undefined) {
    if (endpoint === undefined && type === undefined) return { backend }
    throw usageError('--backend excludes --endpoint and --type', 'give --backend, or --endpoint and --type')
  }
  if (endpoint === undefined) {
    throw usageError(
      'there is nothing to test',
      `give --backend ${BACKEND_NAMES.join('|')}, or --endpoint URL --type external`,
    )
  }
  if (type === undefined) throw usageError('--endpoint needs --type', 'add --type external')
  const url = URL.parse(endpoint)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw usageError(`--endpoint is '${endpoint}', which is no address`, 'write http://HOST:PORT/PATH')
  }
  return { backend: undefined, endpoint }
}

async function test(terminal: Terminal, chosen: Chosen, timeoutMs: number | undefined): Promise<Report> {
  // Loaded when it is used: completion and help read this file, too.
  const suite = await import('../../conformance/index.ts')
  const { min, max } = suite.TIMEOUT_BOUNDS
  if (timeoutMs !== undefined && (timeoutMs < min || timeoutMs > max)) {
    throw usageError(`--timeout must be from ${min}ms to ${max}ms`, 'give it a time such as 5s')
  }
  const world = createSystemWorld()
  const folder = await mkdtemp(join(tmpdir(), 'writ-conformance-log-'))
  const stop = new Abort()
  const unlisten = terminal.onStop(() => stop.abort('canceled'))
  let subject: Subject | undefined
  let logs = 0
  const options = {
    store: 'sqlite' as const,
    captureLog: (events: Events) => captureLog(join(folder, `${++logs}.log`), events, world),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  }
  try {
    const opened =
      chosen.backend === undefined
        ? await suite.createEndpointSubject(chosen.endpoint, options)
        : await suite.createSubject(chosen.backend, options)
    subject = opened
    const doing = `testing ${opened.name} (${suite.CASES.length} cases)`
    return await withProgress(terminal, doing, () => suite.runConformance(opened, { stop }))
  } catch (error) {
    if (error instanceof suite.RunStopped) throw new CliError(error.message, { exit: EXIT.canceled })
    if (error instanceof suite.SubjectRefused) throw usageError(error.message, 'correct --endpoint')
    if (!(error instanceof suite.NothingToTest)) throw error
    throw new CliError(error.message, {
      exit: NOT_CONFORMANT,
      lines: error.reasons,
      fix: 'check the address; the service takes v1 envelopes by POST and offers echo, sleep, fail or count',
    })
  } finally {
    unlisten()
    await subject?.close()
    await rm(folder, { recursive: true, force: true })
    await world.network.close()
  }
}

/** The log as a server would write it, with everything that it ever says. */
function captureLog(file: string, events: Events, world: World): LogCapture {
  const open = () => {
    const log = createLog({ world, destination: { file }, level: 'trace' })
    const unwatch = log.watch(events)
    return async () => {
      unwatch()
      await log.close()
    }
  }
  let close = open()
  return {
    async text() {
      // A closed log has written every line; the next one goes on in the same file.
      await close()
      close = open()
      return readFileSync(file, 'utf8')
    },
    close: () => close(),
  }
}

function writeResult(file: string, text: string): void {
  try {
    writeFileSync(file, text)
  } catch (error) {
    throw new CliError(`${file} cannot be written: ${messageOf(error)}`, {
      exit: EXIT.usage,
      fix: 'name a file in a folder that exists and can be written to',
    })
  }
}

const WORDS: Readonly<Record<Status, string>> = {
  passed: 'passed',
  limited: 'limited',
  'not-tested': 'not tested',
  failed: 'failed',
}

function renderReport(report: Report, style: Style): string {
  const table = renderTable(
    report.groups,
    [
      { title: 'GROUP', value: ({ id, title }) => `${id} ${title}` },
      { title: 'PASSED', value: ({ passed, total }) => `${passed}/${total}` },
      { title: 'STATUS', value: ({ status }) => WORDS[status] },
    ],
    style,
    'No groups.',
  )
  const paint: Readonly<Record<Status, (text: string) => string>> = {
    passed: style.good,
    limited: style.warn,
    'not-tested': style.warn,
    failed: style.bad,
  }
  const listed = (['failed', 'not-tested', 'limited'] as const).flatMap((status) => {
    const own = report.requirements.filter((one) => one.status === status)
    return own.length === 0
      ? []
      : [`\n${paint[status](capital(WORDS[status]))}\n${own.map(renderOne).join('')}`]
  })
  const counts = (Object.keys(WORDS) as Status[])
    .filter((status) => report.counts[status] > 0)
    .map((status) => `${report.counts[status]} ${WORDS[status]}`)
  const seconds = (report.durationMs / 1000).toFixed(1)
  return `${table}${listed.join('')}\n${clean(report.subject)}: ${counts.join(', ')} in ${seconds} s\n`
}

function renderOne({ id, text, reasons }: RequirementReport): string {
  return `  ${id} ${text}\n${reasons.map((reason) => `       ${clean(reason).replaceAll('\n', ' ')}\n`).join('')}`
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`
}
