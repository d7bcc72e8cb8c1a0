// The tool that may have been meant by a name that no tool has.
import type { Client } from '../client/client.ts'
import { ClientError } from '../client/client-error.ts'
import { didYouMean } from '../util/did-you-mean.ts'

/** The fix for an unknown tool where a name is close. Only the admin may see names: for others there is nothing to propose. */
export async function suggestTool(client: Client, name: string): Promise<string | undefined> {
  try {
    return suggestion(
      name,
      (await client.listTools()).map(({ metadata }) => metadata.name),
    )
  } catch (error) {
    // What was asked for is answered already; only the proposal is missing.
    if (error instanceof ClientError) return undefined
    throw error
  }
}

export function suggestion(name: string, names: Iterable<string>): string | undefined {
  const close = didYouMean(name, names)
  return close === undefined ? undefined : `did you mean '${close}'?`
}

/** Runs `work` on the tool `name`; where the server does not know it, the refusal says which one may be meant. */
export async function namingTool<T>(client: Client, name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ClientError) || error.failure !== 'tool-unknown') throw error
    const fix = await suggestTool(client, name)
    throw fix === undefined ? error : error.withFix(fix)
  }
}
