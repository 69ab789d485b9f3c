{{- define "skerry.selector" -}}
app.kubernetes.io/name: skerry
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "skerry.labels" -}}
{{ include "skerry.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "skerry.image" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end -}}

{{/* Roles for objects of the cluster have a name in all of it. */}}
{{- define "skerry.clusterName" -}}
{{ .Release.Namespace }}-{{ .Release.Name }}
{{- end -}}

{{/* Requests of nodes name it: each installation signs its own. */}}
{{- define "skerry.signer" -}}
skerry.io/{{ .Release.Namespace }}.{{ .Release.Name }}
{{- end -}}

{{/* Root without any of its rights: the files of Secrets are closed to all other users. */}}
{{- define "skerry.confined" -}}
runAsUser: 0
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
seccompProfile:
  type: RuntimeDefault
{{- end -}}
