import { milliseconds } from "../../../core/units/index.ts";
import { events } from "../kinds/events.ts";
import type { Server } from "../storage/server.ts";

/** As long as a cluster keeps them, after their last write. */
const KEPT = milliseconds(3_600_000);

/** Forgets old Events: they are written without end, and nobody deletes them. */
export function expireEvents({ store, clock }: Server): void {
  store.listen(({ type, current }, collection) => {
    if (type === "DELETED" || collection.id !== events.storedAs) return;
    const forget = () => {
      const now = collection.get(current.key);
      // Written again in the meantime: that write has a timer of its own.
      if (now?.version === current.version) store.remove(collection, now);
    };
    clock.after(KEPT, forget, { background: true });
  });
}
