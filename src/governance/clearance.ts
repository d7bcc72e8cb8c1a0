// What a caller may see of what tools return: the clearance of its roles against the classification of the tool.
import {
  DATA_CLASSIFICATIONS,
  type DataClassification,
  type ResolvedTool,
} from '../resource/resolved-tool.ts'
import type { Held } from './rules.ts'

export function isCleared(
  { clearance }: Pick<Held, 'clearance'>,
  tool: Pick<ResolvedTool, 'dataClassification'>,
): boolean {
  return rank(clearance) >= rank(tool.dataClassification)
}

export function highest(clearances: readonly DataClassification[]): DataClassification {
  return clearances.reduce((one, other) => (rank(other) > rank(one) ? other : one), 'public')
}

function rank(classification: DataClassification): number {
  return DATA_CLASSIFICATIONS.indexOf(classification)
}
