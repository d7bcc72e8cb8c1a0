// What `npm start` shows: two tools with their services, and three commands to try.
import { readFileSync } from 'node:fs'
import { startBank } from './external-tool/server.ts'
import { startWeather } from './http-tool/server.ts'

interface Tour {
  readonly manifests: readonly { readonly file: string; readonly text: Uint8Array }[]
  readonly commands: readonly string[]
  stop(): Promise<void>
}

export async function startTour(): Promise<Tour> {
  const weather = await startWeather(7501)
  const bank = await startBank(7502).catch(async (error: unknown) => {
    await weather.stop()
    throw error
  })
  return {
    manifests: ['http-tool/tool.yaml', 'external-tool/tool.yaml'].map((file) => ({
      file: `examples/${file}`,
      text: readFileSync(new URL(file, import.meta.url)),
    })),
    commands: [
      'bin/writ call weather --set city=Oslo',
      'bin/writ call transfer --set to=alice --set amount=20 --key rent-1   # run it twice: it is sent once',
      'bin/writ call transfer --set to=bob --set amount=5000               # waits for approval',
    ],
    async stop() {
      await Promise.all([weather.stop(), bank.stop()])
    },
  }
}
