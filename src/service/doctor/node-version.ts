/** Whether the running Node.js still gets security fixes. The program supports older ones, and warns. */
import { type Finding, ok, warn } from './finding.ts'

/** The oldest supported line: 20 ended in April 2026. */
const MAJOR_MIN = 22
const RECOMMENDED = 'use Node.js 24'

/** The problem and its remedy in one line. Undefined for a supported Node.js. */
export function nodeProblem(version = process.versions.node): string | undefined {
  return isSupported(version) ? undefined : `Node.js ${version} gets no more security fixes: ${RECOMMENDED}`
}

export function examineNode(version = process.versions.node): Finding {
  if (isSupported(version)) return ok('node', version)
  return warn('node', `${version} gets no more security fixes`, RECOMMENDED)
}

function isSupported(version: string): boolean {
  return Number(version.split('.')[0]) >= MAJOR_MIN
}
