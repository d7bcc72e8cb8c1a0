// What `npm start` shows: two tools with their services, and three commands to try.
import { readFileSync } from 'node:fs'
import type { Runtime } from '../src/index.ts'
import { startBank } from './external-tool/server.ts'
import { startWeather } from './http-tool/server.ts'

export async function startTour(
  runtime: Runtime,
): Promise<{ readonly commands: readonly string[]; stop(): Promise<void> }> {
  const weather = await startWeather(7501)
  const bank = await startBank(7502)
  const stop = async () => {
    await Promise.all([weather.stop(), bank.stop()])
  }
  const sources = ['http-tool/tool.yaml', 'external-tool/tool.yaml'].map((file) => ({
    file: `examples/${file}`,
    text: readFileSync(new URL(file, import.meta.url)),
  }))
  const applied = await runtime.resources.apply(sources)
  if (!applied.ok) {
    await stop()
    throw new Error(`the example tools do not apply: ${JSON.stringify(applied.problems)}`)
  }
  return {
    commands: [
      'bin/writ call weather --set city=Oslo',
      'bin/writ call transfer --set to=alice --set amount=20 --key rent-1   # run it twice: it is sent once',
      'bin/writ call transfer --set to=bob --set amount=5000               # waits for approval',
    ],
    stop,
  }
}
