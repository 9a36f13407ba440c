/** A store whose transactions fail before or after they are stored. */
import { type Db, StoreUnavailable } from '../../../src/platform/store/db.ts'
import type { Random } from '../../support/random.ts'

export class FaultyStore {
  readonly db: Db
  isFaulty = true
  isDown = false
  losesNext = false
  lost = 0

  constructor(store: Db, random: Random) {
    const transaction: Db['transaction'] = async (work, options) => {
      if (this.isDown) throw new StoreUnavailable('down')
      const isLost = this.losesNext || (this.isFaulty && random.chance(0.3))
      if (isLost && !this.losesNext && random.chance(0.5)) throw new StoreUnavailable('not stored')
      const result = await store.transaction(work, options)
      if (!isLost) return result
      this.lost++
      this.losesNext = false
      throw new StoreUnavailable('the answer was lost')
    }
    this.db = new Proxy(store, {
      get: (target, name, receiver) => (name === 'transaction' ? transaction : Reflect.get(target, name, receiver)),
    })
  }
}
