// Runs one way of making a call at a fixed number in flight and says what it cost. Rounds of the contestants are
// interleaved, so that a noisy machine is noisy for all of them alike.

export interface Contestant {
  readonly name: string
  /** One call. */
  run(): Promise<unknown>
}

export interface Measured {
  readonly name: string
  readonly inFlight: number
  readonly callsPerSecond: number
  readonly p50Us: number
  readonly p99Us: number
  /** Processor time of this process per call, all threads. */
  readonly cpuUs: number
}

interface Round {
  readonly seconds: number
  readonly cpuUs: number
  readonly latencies: Float64Array
}

async function round(contestant: Contestant, inFlight: number, calls: number): Promise<Round> {
  const latencies = new Float64Array(calls)
  let next = 0
  const before = process.cpuUsage()
  const started = performance.now()
  const worker = async () => {
    for (let index = next++; index < calls; index = next++) {
      const from = performance.now()
      await contestant.run()
      latencies[index] = performance.now() - from
    }
  }
  await Promise.all(Array.from({ length: inFlight }, worker))
  const seconds = (performance.now() - started) / 1000
  const { user, system } = process.cpuUsage(before)
  return { seconds, cpuUs: user + system, latencies }
}

/** Best round of several: the one least disturbed by the rest of the machine. */
export async function measure(
  contestants: readonly Contestant[],
  inFlight: number,
  options: { readonly calls: number; readonly rounds: number },
): Promise<Measured[]> {
  const all = new Map<string, Round[]>(contestants.map((one) => [one.name, []]))
  for (const one of contestants) await round(one, inFlight, Math.ceil(options.calls / 4))
  for (let index = 0; index < options.rounds; index++) {
    for (const one of contestants) all.get(one.name)?.push(await round(one, inFlight, options.calls))
  }
  return contestants.map(({ name }) => {
    const rounds = all.get(name) ?? []
    const best = rounds.reduce((a, b) => (a.seconds <= b.seconds ? a : b))
    const sorted = best.latencies.slice().sort()
    const at = (part: number) =>
      (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0) * 1000
    return {
      name,
      inFlight,
      callsPerSecond: options.calls / best.seconds,
      p50Us: at(0.5),
      p99Us: at(0.99),
      cpuUs: Math.min(...rounds.map((one) => one.cpuUs)) / options.calls,
    }
  })
}

const HEADS = ['ratio', 'p50 ratio', 'cpu ratio', 'calls/s', 'p50 us', 'p99 us', 'cpu us']

/**
 * Throughput as a part of the first line's, the direct call; the median time of a call and its processor time as multiples of
 * that one's.
 */
export function print(title: string, lines: readonly Measured[]): void {
  console.log(`\n${title}`)
  const heads = HEADS.map((head) => head.padStart(10)).join('')
  console.log(`${'in flight'.padStart(9)}  ${'way'.padEnd(28)}${heads}`)
  for (const line of lines) {
    const direct = directOf(line, lines)
    const cells = [
      (line.callsPerSecond / direct.callsPerSecond).toFixed(2),
      (line.p50Us / direct.p50Us).toFixed(2),
      (line.cpuUs / direct.cpuUs).toFixed(2),
      line.callsPerSecond.toFixed(0),
      line.p50Us.toFixed(0),
      line.p99Us.toFixed(0),
      line.cpuUs.toFixed(0),
    ]
    const text = cells.map((cell) => cell.padStart(10)).join('')
    console.log(`${String(line.inFlight).padStart(9)}  ${line.name.padEnd(28)}${text}`)
  }
}

/** The first line with as many in flight. */
export function directOf(line: Measured, lines: readonly Measured[]): Measured {
  return lines.find(({ inFlight }) => inFlight === line.inFlight) ?? line
}
