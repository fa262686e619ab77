/** The public source of a value. */
export interface Source {
  readonly title: string;
  readonly where: string;
}

/** measured: read from a device. vendor: published by the vendor. assumed: not confirmed by either. */
export type Provenance = "measured" | "vendor" | "assumed";

/** A number with its provenance. */
export interface Figure<Value extends number = number> {
  readonly value: Value;
  readonly provenance: Provenance;
  readonly source: Source;
}

/** A model parameter with its provenance. */
export const sourcedFigure = <Value extends number>(
  value: Value,
  provenance: Provenance,
  source: Source,
): Figure<Value> => ({
  value,
  provenance,
  source,
});

const source = (title: string, where: string): Source => ({ title, where });

/** The sources of the model parameters: public documents, or a note that nothing is published. */
export const MODEL_SOURCES = {
  powerCapping: source(
    "V100 training of language models at 150 of 250 W: 13.7 % less energy, 6.8 % more time",
    "arxiv.org/abs/2205.09646",
  ),
  genoaClocks: source("Clock range a host with an EPYC 9654 reports: 1500 to 3708 MHz", "lscpu"),
  clockRange: source(
    "Clock range usual for this family, by its drivers' tables",
    "nvidia-smi -q -d SUPPORTED_CLOCKS, cpufreq",
  ),
  voltageTables: source("Shape of published voltage and frequency tables, not of this device", "no publication"),
  estimate: source("Chosen to be plausible", "no publication"),
  milanLoad: source(
    "SPECpower_ssj2008, HPE ProLiant DL345 Gen10 Plus, EPYC 7763",
    "spec.org/power_ssj2008, result 20210221-01065, as copied by OpenDC",
  ),
  genoaLoad: source(
    "SPECpower_ssj2008, ASUS RS720A-E12-RS12, two EPYC 9654",
    "spec.org/power_ssj2008, result 20221204-01203, as copied by github.com/joulie-k8s/Joulie",
  ),
  turinLoad: source(
    "SPECpower_ssj2008, two EPYC 9655",
    "spec.org/power_ssj2008, result 20241007-01464, as copied by github.com/joulie-k8s/Joulie",
  ),
  turinDenseLoad: source(
    "SPECpower_ssj2008, two EPYC 9965",
    "spec.org/power_ssj2008, result 20250407-01522, as copied by github.com/joulie-k8s/Joulie",
  ),
  iceLakeLoad: source(
    "SPECpower_ssj2008, HPE ProLiant DL380 Gen10 Plus, two Xeon Platinum 8380",
    "spec.org/power_ssj2008, result 20210601-01103, as copied by OpenDC",
  ),
  specRest: source(
    "Fitted to idle and full load at the wall of the three SPECpower servers above that draw more than their packages' rating",
    "spec.org/power_ssj2008",
  ),
  hgxNode: source(
    "HGX node with eight H100 and two EPYC 9354: at most 8.4 kW at the wall in training",
    "arxiv.org/abs/2412.08602",
  ),
  ashrae: source("Air to servers, recommended range 18–27 °C", "ASHRAE thermal guidelines"),
} as const satisfies Record<string, Source>;
