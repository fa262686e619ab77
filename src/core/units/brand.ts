declare const unit: unique symbol;

/** A number that knows its unit: `Watts` cannot be passed where `Percent` is asked for, at no cost at run time. */
export type Quantified<Unit extends string> = number & { readonly [unit]: Unit };
