/** Repeated creations whose first request was carried out, and which would be refused by now. */
import { Problem } from '../../platform/http/problem.ts'

/**
 * Runs a creation's checks. One that refuses with 403 may have passed for an earlier request with the same `ref_id`: the
 * account was blocked, or the destination deleted, since. A client without that request's answer must learn that the
 * record exists, and not take it for refused.
 * @param refuseRepeated throws 409 when the `ref_id` was used before
 */
export async function unlessRepeated<Result>(
  refuseRepeated: () => Promise<void>,
  check: () => Promise<Result>,
): Promise<Result> {
  try {
    return await check()
  } catch (error) {
    if (error instanceof Problem && error.status === 403) await refuseRepeated()
    throw error
  }
}
