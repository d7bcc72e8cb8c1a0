// One line that says what is going on and for how long, for a person who watches; for nobody else.
import type { Terminal } from './terminal.ts'

const FRAMES = ['|', '/', '-', '\\']
/** What ends within this needs no line. */
const PATIENCE_MS = 1000
const FRAME_MS = 100
const ERASE_LINE = '\r\u001b[2K'

export async function withProgress<T>(terminal: Terminal, doing: string, work: () => Promise<T>): Promise<T> {
  if (!terminal.errIsTty || terminal.env.TERM === 'dumb') return work()
  const start = terminal.clock.monotonic()
  let frame = 0
  let shown = false
  const timer = setInterval(() => {
    const elapsed = terminal.clock.monotonic() - start
    if (elapsed < PATIENCE_MS) return
    shown = true
    const text = `${FRAMES[frame++ % FRAMES.length]} ${doing} ${(elapsed / 1000).toFixed(1)}s`
    // A line that wraps cannot be erased again.
    terminal.err(`${ERASE_LINE}${text.slice(0, Math.max(1, (terminal.columns || 80) - 1))}`)
  }, FRAME_MS)
  try {
    return await work()
  } finally {
    clearInterval(timer)
    if (shown) terminal.err(ERASE_LINE)
  }
}
