declare const unit: unique symbol;

/** A number with a unit: `Watts` cannot be passed as `Percent`. It has no cost at run time. */
export type Quantified<Unit extends string> = number & { readonly [unit]: Unit };
