import { milliseconds } from "../../../core/units/index.ts";
import { events } from "../kinds/events.ts";
import type { Server } from "../storage/server.ts";

/** kube-apiserver's default event TTL, counted from the last write. */
const KEPT = milliseconds(3_600_000);

/** Deletes Events after their TTL. */
export function expireEvents({ store, clock }: Server): void {
  store.listen(({ type, current }, collection) => {
    if (type === "DELETED" || collection.id !== events.storedAs) return;
    const forget = () => {
      const now = collection.get(current.key);
      // A later write of the Event has its own timer.
      if (now?.version === current.version) store.remove(collection, now);
    };
    clock.after(KEPT, forget, { background: true });
  });
}
