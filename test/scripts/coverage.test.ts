// The coverage floors hold: a fall, a folder without a floor and a floor without a folder each fail.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  belowFloor,
  countByFolder,
  folderOf,
  readLcov,
  renderTable,
  suggestFloors,
} from '../../scripts/coverage.ts'

const LCOV = `TN:
SF:src/util/a.ts
BRF:4
BRH:3
LF:10
LH:9
end_of_record
SF:src/util/deep/b.ts
BRF:0
BRH:0
LF:10
LH:10
end_of_record
`
const source = (path: string, text = '// code\nexport const a = 1\n') => ({ path, text })
const loaded = [source('src/util/a.ts'), source('src/util/deep/b.ts')]

describe('coverage', () => {
  it('is summed per folder of src', () => {
    assert.equal(folderOf('src/util/deep/b.ts'), 'src/util')
    assert.equal(folderOf('src/runtime.ts'), 'src')
    const folders = countByFolder(readLcov(LCOV), loaded)
    assert.deepEqual(folders.get('src/util'), { lines: 20, linesHit: 19, branches: 4, branchesHit: 3 })
  })

  it('counts a file that no test loads as not covered', () => {
    const folders = countByFolder(readLcov(LCOV), [...loaded, source('src/util/c.ts')])
    assert.deepEqual(folders.get('src/util'), { lines: 21, linesHit: 19, branches: 5, branchesHit: 3 })
  })

  it('does not count a file of which nothing runs', () => {
    const types = source(
      'src/util/types.ts',
      '// types\nimport type { A } from "./a.ts"\nexport interface B { a: A }\n',
    )
    const folders = countByFolder(readLcov(LCOV), [...loaded, types])
    assert.equal(folders.get('src/util')?.lines, 20)
  })

  it('fails below a floor, and is content at it', () => {
    const folders = countByFolder(readLcov(LCOV), loaded)
    assert.deepEqual(belowFloor(folders, { 'src/util': { lines: 95, branches: 75 } }), [])
    const wrong = belowFloor(folders, { 'src/util': { lines: 96, branches: 76 } })
    assert.equal(wrong.length, 2)
    assert.match(wrong[0] ?? '', /src\/util: 95\.0 % of lines, the floor is 96 %/)
  })

  it('fails on a folder without a floor and on a floor without a folder', () => {
    const wrong = belowFloor(countByFolder(readLcov(LCOV), loaded), { 'src/gone': { lines: 1, branches: 1 } })
    assert.equal(wrong.length, 2)
    assert.match(wrong.join('\n'), /src\/util has no floor[\s\S]*src\/gone has a floor and no files/)
  })

  it('suggests floors that hold, just below what is measured', () => {
    const folders = countByFolder(readLcov(LCOV), loaded)
    const floors = suggestFloors(folders)
    assert.deepEqual(floors, { 'src/util': { lines: 93, branches: 73 } })
    assert.deepEqual(belowFloor(folders, floors), [])
    assert.match(renderTable(folders, floors), /src\/util\s+95\.0\s+93\.0\s+75\.0\s+73\.0/)
  })
})
