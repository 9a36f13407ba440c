/**
 * Vitest's reporter for `npm test`: writes vitest's usual output, which scripts/test.mjs keeps in a file, and sends that
 * script the outcome of each test file when it ends, and at the end the text of all failures.
 */
import { DefaultReporter } from 'vitest/node'

export default class TestReporter extends DefaultReporter {
  #failureText = ''

  onTestRunStart(specifications) {
    super.onTestRunStart(specifications)
    process.send({ count: specifications.length })
  }

  onTestModuleEnd(module) {
    super.onTestModuleEnd(module)
    process.send({ file: outcomeOf(module) })
  }

  /** Vitest's text of a failure has the differing values and the code around, which no public function returns. */
  printErrorsSummary(files, errors) {
    const { write } = process.stderr
    process.stderr.write = (part) => {
      this.#failureText += part
      return write.call(process.stderr, part)
    }
    super.printErrorsSummary(files, errors)
    process.stderr.write = write
  }

  /** Resolves when all messages are sent: vitest may end the process then. */
  async onTestRunEnd(modules, errors, reason) {
    super.onTestRunEnd(modules, errors, reason)
    await new Promise((resolve) => process.send({ failureText: this.#failureText }, resolve))
  }
}

function outcomeOf(module) {
  const tests = [...module.children.allTests()]
  const namesOf = (state) => tests.filter((test) => test.result().state === state).map(({ fullName }) => fullName)
  const failed = namesOf('failed')
  return {
    path: module.relativeModuleId,
    seconds: module.diagnostic().duration / 1000,
    passed: namesOf('passed').length,
    // A hook that failed, or a file that does not load.
    failed: failed.length === 0 && !module.ok() ? ['outside of its tests'] : failed,
    skipped: namesOf('skipped'),
  }
}
