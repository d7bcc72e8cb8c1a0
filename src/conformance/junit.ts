// A report as JUnit XML, for build servers: a suite for each group, a test for each requirement.
import type { GroupReport, Report, RequirementReport } from './report.ts'

export function toJunit(report: Report): string {
  const { counts, requirements } = report
  const suites = report.groups.map((group) =>
    suite(
      report,
      group,
      requirements.filter((one) => one.group === group.id),
    ),
  )
  const all = attributes({
    name: `writ conformance: ${report.subject}`,
    tests: requirements.length,
    failures: counts.failed,
    errors: 0,
    skipped: counts['not-tested'],
    time: seconds(report.durationMs),
  })
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites${all}>\n${suites.join('')}</testsuites>\n`
}

function suite(report: Report, group: GroupReport, requirements: readonly RequirementReport[]): string {
  const count = (status: string) => requirements.filter((one) => one.status === status).length
  const head = attributes({
    name: `${group.id} ${group.title}`,
    tests: requirements.length,
    failures: count('failed'),
    errors: 0,
    skipped: count('not-tested'),
    time: seconds(requirements.reduce((sum, one) => sum + one.durationMs, 0)),
    timestamp: new Date(report.startedAt).toISOString().slice(0, 19),
  })
  return `  <testsuite${head}>\n${requirements.map((one) => test(report, one)).join('')}  </testsuite>\n`
}

function test(report: Report, one: RequirementReport): string {
  const head = attributes({
    classname: `conformance.${report.subject}.${one.group}`,
    name: `${one.id} ${one.text}`,
    time: seconds(one.durationMs),
  })
  const inside = body(one)
  return inside === '' ? `    <testcase${head}/>\n` : `    <testcase${head}>${inside}</testcase>\n`
}

function body({ status, reasons }: RequirementReport): string {
  const text = reasons.join('\n')
  if (status === 'failed') {
    return `<failure${attributes({ message: reasons[0] ?? '', type: 'requirement' })}>${escapeXml(text)}</failure>`
  }
  if (status === 'not-tested') return `<skipped${attributes({ message: text })}/>`
  return status === 'limited' ? `<system-out>${escapeXml(`limited: ${text}`)}</system-out>` : ''
}

function attributes(values: Readonly<Record<string, string | number>>): string {
  return Object.entries(values)
    .map(([name, value]) => ` ${name}="${escapeXml(String(value))}"`)
    .join('')
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3)
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
  '\n': '&#10;',
  '\r': '&#13;',
  '\t': '&#9;',
}

/** Characters that XML 1.0 has no way to write become the replacement character: text comes from foreign tools. */
function escapeXml(text: string): string {
  return (
    text
      .toWellFormed()
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about
      .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd')
      .replaceAll(/[&<>"'\n\r\t]/g, (character) => ENTITIES[character] ?? character)
  )
}
