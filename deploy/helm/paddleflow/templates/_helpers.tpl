{{- define "paddleflow.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end -}}
{{- end }}

{{/* The name of a part: (list $ "csi-node"). */}}
{{- define "paddleflow.part" -}}
{{- $root := index . 0 -}}
{{- printf "%s-%s" (include "paddleflow.name" $root | trunc 40 | trimSuffix "-") (index . 1) -}}
{{- end }}

{{/* What a part is found by, for ever: (list $ "csi-node"). */}}
{{- define "paddleflow.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ $root.Chart.Name }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "paddleflow.labels" -}}
{{- $root := index . 0 -}}
{{ include "paddleflow.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version }}
{{- end }}

{{/* (list $ image) */}}
{{- define "paddleflow.image" -}}
{{- $root := index . 0 -}}
{{- $image := index . 1 -}}
image: {{ printf "%s:%s" $image.repository ($image.tag | default $root.Chart.AppVersion) | quote }}
imagePullPolicy: {{ $image.pullPolicy }}
{{- end }}

{{- define "paddleflow.csi.folder" -}}
{{ .Values.csi.kubeletPath }}/plugins/{{ .Values.csi.driver }}
{{- end }}

{{- define "paddleflow.csi.stores" -}}
{{ .Values.csi.controller.existingSecret | default (include "paddleflow.part" (list . "csi-stores")) }}
{{- end }}

{{/* Whether clients are pods: "true" or "false". */}}
{{- define "paddleflow.csi.pods" -}}
{{- and .Values.csi.enabled (eq .Values.csi.clients.run "pods") -}}
{{- end }}

{{- define "paddleflow.csi.clients-namespace" -}}
{{ .Values.csi.clients.namespace | default (printf "%s-clients" .Release.Namespace) }}
{{- end }}

{{/* In memory: sockets of the machine, and what opens storage. Two releases on one machine have two drivers. */}}
{{- define "paddleflow.csi.run" -}}
/run/paddleflow-csi/{{ .Values.csi.driver }}
{{- end }}

{{/* Where client pods come, and are told what to serve. */}}
{{- define "paddleflow.csi.door" -}}
{{ include "paddleflow.csi.run" . }}/clients
{{- end }}

{{/* What a container may that needs nothing. */}}
{{- define "paddleflow.unprivileged" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* What a container answers to the kubelet, and to those who measure. */}}
{{- define "paddleflow.csi.answers" -}}
ports:
  - {name: admin, containerPort: {{ .Values.csi.adminPort | int64 }}}
readinessProbe:
  httpGet: {path: /readyz, port: admin}
  periodSeconds: 2
  timeoutSeconds: 2
{{- end }}

{{/* The same of one that is begun again when it does not answer for two minutes: machines may be very busy. */}}
{{- define "paddleflow.csi.answers-or-ends" -}}
{{ include "paddleflow.csi.answers" . }}
livenessProbe:
  httpGet: {path: /healthz, port: admin}
  periodSeconds: 20
  timeoutSeconds: 10
  failureThreshold: 6
  # Who hangs does not heed that it is told to end.
  terminationGracePeriodSeconds: 10
{{- end }}
