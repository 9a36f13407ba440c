import { assert as check, integer, property } from 'fast-check'
import { expect, it } from 'vitest'
import { SessionIndex } from '../../../src/streaming/gateway/session-index.ts'
import { propertySettings } from '../../support/property.ts'
import { Random } from '../../support/random.ts'

it("the session index finds clients' and customers' sessions after any sequence of opened and ended sessions", () => {
  check(
    property(integer(), (seed) => {
      const random = new Random(seed)
      const index = new SessionIndex<{ readonly token: { readonly clientId: string; readonly customerId: string } }>()
      const open: Parameters<typeof index.add>[0][] = []
      for (let step = 0; step < 200; step++) {
        if (open.length === 0 || random.chance(0.55)) {
          const customer = random.integer(4)
          const session = { token: { clientId: `${customer}.${random.integer(3)}`, customerId: String(customer) } }
          open.push(session)
          index.add(session)
        } else {
          const [ended] = open.splice(random.integer(open.length), 1)
          if (ended === undefined) throw new Error('no session')
          index.remove(ended)
          if (random.chance(0.2)) index.remove(ended)
        }
        const clientIds = new Set([`${random.integer(4)}.${random.integer(3)}`, 'unknown'])
        const customerIds = new Set(random.chance(0.3) ? [String(random.integer(4))] : [])
        const expected = open.filter(({ token }) => clientIds.has(token.clientId) || customerIds.has(token.customerId))
        expect(new Set(index.affectedBy({ all: false, clientIds, customerIds }))).toEqual(new Set(expected))
        expect(index.all).toEqual(new Set(open))
      }
      expect(new Set(index.affectedBy({ all: true, clientIds: new Set(), customerIds: new Set() }))).toEqual(
        new Set(open),
      )
    }),
    propertySettings(20),
  )
})
