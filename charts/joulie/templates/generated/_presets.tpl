{{- /* Written by `npm run generate` from src/core/presets/presets.ts. Change it there. */}}
{{- define "joulie.presets" -}}
{
  "observe": {
    "operator": {
      "POLICY_TYPE": "fit_aware_v1",
      "FIT_RESERVE": "1",
      "ECO_MAX_SLOWDOWN_PCT": "50"
    },
    "agent": {
      "SIMULATE_ONLY": "true"
    }
  },
  "partition": {},
  "energy": {
    "operator": {
      "POLICY_TYPE": "fit_aware_v1",
      "FIT_RESERVE": "1",
      "ECO_MAX_SLOWDOWN_PCT": "50"
    },
    "extender": {
      "SCORING": "energy"
    }
  },
  "energy-sleep": {
    "operator": {
      "POLICY_TYPE": "fit_aware_v1",
      "FIT_RESERVE": "1",
      "ECO_MAX_SLOWDOWN_PCT": "50",
      "SLEEP_MODE": "on"
    },
    "extender": {
      "SCORING": "energy",
      "SLEEP_MODE": "on"
    }
  }
}
{{- end }}
