/** Stands where data will be, until the first answer. */
export const Loading = ({ of }: { of: string }) => (
  <p class="loading" role="status">
    Reading {of} …
  </p>
);
