// Waits for something that comes about by itself.

const EVERY_MS = 5

/** What `look` gives once it is neither undefined nor false. Throws after `ms`. */
export async function until<T>(
  look: () => T | Promise<T>,
  ms = 10_000,
): Promise<Exclude<Awaited<T>, undefined | false>> {
  const end = performance.now() + ms
  for (;;) {
    const found = await look()
    if (found !== undefined && found !== false) return found as Exclude<Awaited<T>, undefined | false>
    if (performance.now() > end) throw new Error(`it did not come about within ${ms} ms: ${look}`)
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS))
  }
}
