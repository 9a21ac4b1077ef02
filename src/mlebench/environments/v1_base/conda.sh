# To be sourced: `conda activate` changes nothing, since there is one environment only.
conda() {
    case "$1" in
        activate | deactivate) ;;
        *) /opt/conda/bin/conda "$@" ;;
    esac
}
