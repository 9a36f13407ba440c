/**
 * Vitest's reporter for `npm test` and `npm run test:long`. It writes vitest's usual output, which their script keeps in a
 * file. It sends that script each test file's outcome when the file ends, and at the end the text of all failures. What
 * failed is written at once too, because a long run may be interrupted.
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
    for (const test of module.children.allTests('failed')) {
      const texts = test
        .result()
        .errors.map(({ stack, message, diff }) => [stack ?? message, diff].filter(Boolean).join('\n'))
      process.stdout.write(`failed: ${test.fullName}\n${texts.join('\n')}\n`)
    }
    process.send({ file: outcomeOf(module) })
  }

  /** Vitest's failure text has the differing values and the surrounding code, which no public function returns. */
  printErrorsSummary(files, errors) {
    const { write } = process.stderr
    process.stderr.write = (part) => {
      this.#failureText += part
      return write.call(process.stderr, part)
    }
    super.printErrorsSummary(files, errors)
    process.stderr.write = write
  }

  /** Resolves when all messages are sent, because vitest may then end the process. */
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
    project: module.project.name,
    seconds: module.diagnostic().duration / 1000,
    passed: namesOf('passed').length,
    // A failed hook, or a file that does not load.
    failed: failed.length === 0 && !module.ok() ? ['outside of its tests'] : failed,
    skipped: namesOf('skipped'),
  }
}
